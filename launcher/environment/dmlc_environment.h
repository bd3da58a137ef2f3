#pragma once

#include "base/environment.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

namespace dt {

// Variables for programs that use ps-lite (MXNet, BytePS). Servers and workers meet at the task of
// role scheduler. ps-lite supports only IPv4.

/// Adds the scheduler's address with its held port, and the numbers of servers and workers.
void add_dmlc_scheduler(Environment& common, const ClusterSpec& cluster);
/// Adds a task's role, and the address by which the others reach its host. Adds nothing for other
/// roles than scheduler, server and worker.
void add_dmlc_task(Environment& environment, const ClusterSpec& cluster, const TaskId& task);

}  // namespace dt

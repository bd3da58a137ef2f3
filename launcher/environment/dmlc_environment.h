#pragma once

#include "base/environment.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

namespace dt {

// What programs of ps-lite read, which are MXNet's and BytePS's: one of role scheduler, at which
// the servers and the workers meet. It knows addresses of IPv4 alone.

/// Where the scheduler is, at the port that is held for it, and how many servers and workers wait
/// for each other.
void add_dmlc_scheduler(Environment& common, const ClusterSpec& cluster);
/// Which of the three a task is, and by which address of its host the others reach it. Tasks of
/// other roles are none of them.
void add_dmlc_place(Environment& environment, const ClusterSpec& cluster, const TaskId& task);

}  // namespace dt

#pragma once

#include "base/crypto.h"
#include "base/io/socket.h"
#include "launcher/config/config.h"
#include "launcher/environment/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/message.h"
#include "rendezvous/cluster/task.h"

#include <vector>

namespace dt {

/// The rendezvous as the variables of tasks name it.
struct RendezvousFacts {
  Address address;
  Token token = {};
  bool horovod = false;  ///< it answers Horovod's workers, too
};

/// Assigns the held ports: one a task for the ClusterSpec, then MASTER_PORT and JAX's on rank 0's
/// host. Where others start some tasks of the cluster, ours get no rendezvous. MASTER_PORT and
/// JAX's port are then the port of rank 0's own address.
JobFacts job_facts(const RunConfig& config, const Plan& plan, const TaskTable& table,
                   const RendezvousFacts& rendezvous, const std::vector<Prepared>& prepared);

}  // namespace dt

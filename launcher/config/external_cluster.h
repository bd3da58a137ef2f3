#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "launcher/config/role.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// A cluster that a scheduler or a person has laid out. A dtrain on each of its hosts starts that
/// host's tasks.
struct ExternalCluster {
  ClusterSpec cluster;
  std::optional<TaskId> task = {};  ///< start this task; none: all of this machine
  std::string origin;               ///< for messages: "--cluster-spec", "TF_CONFIG"
  std::string tf_config = {};       ///< the value of the variable; empty: not used
  bool operator==(const ExternalCluster&) const = default;
};

/// Returns the roles of the cluster, and that of its task (an evaluator may not be in the cluster).
/// No role of a sparse cluster has ranks, since the number of workers is unknown.
std::vector<Role> roles_of(const ExternalCluster& external);

/// Reads --cluster-spec: "worker|h1:2222;h2:2222,ps|h3:2222", or {"worker": ["h1:2222", …], …}.
/// Errors name role, index and field, and begin with `origin`.
Result<ExternalCluster> parse_cluster_option(std::string_view text, std::string origin);

/// Reads TF_CONFIG, which must name a task.
Result<ExternalCluster> cluster_of_tf_config(std::string_view text);

/// Returns TF_CONFIG of the environment, if it is not empty. None within a task of dtrain, whose
/// TF_CONFIG does not come from a scheduler.
std::optional<std::string> found_tf_config(const Environment& environment);

}  // namespace dt

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

/// A cluster that somebody else has laid out, a scheduler or a person: a dtrain on each of its
/// hosts starts that host's tasks.
struct ExternalCluster {
  ClusterSpec cluster;
  std::optional<TaskId> task = {};  ///< start this one; none: all of this machine
  std::string origin;               ///< in messages: "--cluster-spec", "TF_CONFIG"
  std::string tf_config = {};       ///< as it was found; empty: it was not
  bool operator==(const ExternalCluster&) const = default;
};

/// The roles of its tasks, with the evaluator that it may name beside the cluster. In a sparse
/// cluster, which does not tell how many train, none has ranks.
std::vector<Role> roles_of(const ExternalCluster& given);

/// Reads --cluster-spec: "worker|h1:2222;h2:2222,ps|h3:2222", or {"worker": ["h1:2222", …], …}.
/// Errors name role, index and field, and begin with `origin`.
Result<ExternalCluster> parse_cluster_option(std::string_view text, std::string origin);

/// Reads TF_CONFIG, which must name a task.
Result<ExternalCluster> cluster_of_tf_config(std::string_view text);

/// TF_CONFIG of the environment, where it is set to something. One in a job of dtrain's own names a
/// place in that job, and is no word of a scheduler.
std::optional<std::string> found_tf_config(const Environment& environment);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The content of TensorFlow's variable TF_CONFIG: the cluster, and the task of the process.
struct TfConfig {
  ClusterSpec cluster;
  /// None for a tool that only reads the cluster. The evaluator need not be in the cluster.
  std::optional<TaskId> task = {};
  bool operator==(const TfConfig&) const = default;
};

/// Reads a scheduler's value by TensorFlow's own rules (tfconfig_cluster_resolver,
/// multi_worker_util). An index may be a string, and unknown members are ignored. At most one chief
/// and one evaluator are allowed, and the task must be in the cluster. Fails with Errc::input,
/// which names the field: "TF_CONFIG: task.index: …".
Result<TfConfig> parse_tf_config(std::string_view text);

/// Returns the same text with only the part of the cluster that its task sees, and all else
/// unchanged. Without a filter, returns the text itself. Requires a text with a task.
Result<std::string> tf_config_seen(const std::string& text, ClusterFilter filter);

/// The part of TF_CONFIG that all tasks of a job share; it never has the evaluator.
std::string tf_cluster(const ClusterSpec& cluster);
/// The value of TF_CONFIG for one task. Requires `cluster` from tf_cluster().
std::string tf_config(std::string_view cluster, const TaskId& task);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/cluster/task.h"

#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// TensorFlow's variable TF_CONFIG: the cluster, and which of its tasks a process is.
struct TfConfig {
  ClusterSpec cluster;
  /// None where a tool only looks at the cluster. The evaluator need not be in the cluster.
  std::optional<TaskId> task = {};
  bool operator==(const TfConfig&) const = default;
};

/// Reads what a scheduler has set, by TensorFlow's own rules (tfconfig_cluster_resolver,
/// multi_worker_util): an index may be a string, further members pass, at most one chief and one
/// evaluator, and the task must be one of the cluster. Errc::input names the field:
/// "TF_CONFIG: task.index: …".
Result<TfConfig> parse_tf_config(std::string_view text);

/// The same text with as much of the cluster as its task is shown, and all else as it was; the text
/// itself where that is all. It must have been read with a task.
Result<std::string> tf_config_seen(const std::string& text, ClusterFilter filter);

/// The part of TF_CONFIG that all tasks of a job share; it never has the evaluator.
std::string tf_cluster(const ClusterSpec& cluster);
/// The value of TF_CONFIG for one task. Requires `cluster` from tf_cluster().
std::string tf_config(std::string_view cluster, const TaskId& task);

}  // namespace dt

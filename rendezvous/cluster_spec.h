#pragma once

#include "base/json.h"
#include "base/result.h"
#include "rendezvous/task.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dt {

/// TensorFlow's picture of a job: for each role, the "host:port" of each index. Indices may have
/// holes (a sparse spec: a task needs to know only whom it talks to).
struct ClusterSpec {
  std::map<std::string, std::map<int, std::string>> jobs;

  /// Checks TensorFlow's own rules: at most one chief and one evaluator, indices from 0, each
  /// address host:port with a port of 1..65535, no address twice. The message names role, index and
  /// field.
  Result<> check() const;
  /// Null when it has no such task.
  const std::string* find(const TaskId& task) const;
  /// {"worker": ["h:p", …]} — a list where indices are dense from 0, else {"1": "h:p"}.
  Json json() const;
  /// Reads json() back, and checks it.
  static Result<ClusterSpec> from_json(const Json& json);
  bool operator==(const ClusterSpec&) const = default;
};

/// The parts of "host:port"; the host without brackets, and 0 where there is no port.
struct HostPort {
  std::string host;
  uint16_t port = 0;
};
HostPort parts_of(std::string_view address);

/// How much of the cluster each task is shown.
enum class ClusterFilter : uint8_t {
  none,  ///< all of it
  ps,    ///< a worker no other worker, a ps no other ps: they never talk to each other
};
/// What this task is shown of the cluster: a sparse spec where its equals are left out.
ClusterSpec seen_by(const TaskId& task, const ClusterSpec& cluster, ClusterFilter filter);

/// The part of TF_CONFIG that all tasks of a job share; the evaluator is never in it.
std::string tf_cluster(const ClusterSpec& cluster);
/// The value of TF_CONFIG for one task.
std::string tf_config(std::string_view cluster, const TaskId& task);

}  // namespace dt

#pragma once

#include "base/json.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dt {

/// TensorFlow's picture of a job: for each role, the "host:port" of each index. Indices may have
/// holes (a sparse spec: a task needs to know only whom it talks to).
struct ClusterSpec {
  std::map<std::string, std::map<int, std::string>> jobs;

  /// "host:port" of this task; nullptr if it is not there.
  const std::string* address_of(const TaskId& task) const;
  /// Checks TensorFlow's own rules: at most one chief and one evaluator, indices from 0, each
  /// address host:port with a port of 1..65535, no address twice. The message names role, index and
  /// field.
  Result<> check() const;
  /// {"worker": ["h:p", …]} — a list where indices are dense from 0, else {"1": "h:p"}.
  Json json() const;
  /// Reads json() back, and checks it.
  static Result<ClusterSpec> from_json(const Json& json);
  bool operator==(const ClusterSpec&) const = default;
};

/// "host:port" in two; an IPv6 host without its brackets.
struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort split_address(std::string_view address);
/// The second of them as a number; 0 where there is none.
uint16_t port_of(std::string_view address);

/// How much of the cluster each task is shown.
enum class ClusterFilter : uint8_t {
  none,  ///< all of it
  ps,    ///< a worker no other worker, a ps no other ps: they never talk to each other
};
/// What this task is shown of the cluster: a sparse spec where its equals are left out.
ClusterSpec seen_by(const TaskId& task, const ClusterSpec& cluster, ClusterFilter filter);

}  // namespace dt

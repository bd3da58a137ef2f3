#pragma once

#include "base/json.h"
#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dt {

/// TensorFlow's description of a job: for each role, the "host:port" of each index. Indices may
/// have holes (a sparse spec: a task needs only the addresses of the tasks that it contacts).
struct ClusterSpec {
  std::map<std::string, std::map<int, std::string>> jobs;

  /// Returns the "host:port" of this task; nullptr if the cluster does not have it.
  const std::string* address_of(const TaskId& task) const;
  /// Checks TensorFlow's own rules: at most one chief and one evaluator, and indices from 0. Each
  /// address is host:port with a port of 1..65535, and no address stands twice. Fails with
  /// Errc::input, which names role, index and field.
  Result<> check() const;
  /// Returns {"worker": ["h:p", …]}: a list where indices are dense from 0, else {"1": "h:p"}.
  Json json() const;
  /// Reads the result of json(), and checks it.
  static Result<ClusterSpec> from_json(const Json& json);
  bool operator==(const ClusterSpec&) const = default;
};

/// The parts of a "host:port"; an IPv6 host has no brackets.
struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort split_address(std::string_view address);
/// Returns the port of a "host:port" as a number; 0 without one.
uint16_t port_of(std::string_view address);

/// The part of the cluster that each task sees.
enum class ClusterFilter : uint8_t {
  none,  ///< all of it
  ps,    ///< a worker sees no other worker, a ps no other ps: they never contact each other
};
/// Returns the part of the cluster that this task sees: a sparse spec when the filter removes
/// tasks.
ClusterSpec seen_by(const TaskId& task, const ClusterSpec& cluster, ClusterFilter filter);

}  // namespace dt

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// Converts wall clock times of hosts to this machine's clock. A host's clock is compared with ours
/// once, when its first time arrives. So the times of one host keep their order, however long later
/// messages take. Across hosts the error is the delay of those first messages.
class HostClocks {
 public:
  explicit HostClocks(size_t agents) : ahead_ns_(agents) {}

  /// Returns `when_ns`, a time of the agent's host, by our clock. The agent sent it at `sent_ns` of
  /// its clock, and it arrives at `now_ns` of ours.
  int64_t by_our_clock(size_t agent, int64_t when_ns, int64_t sent_ns, int64_t now_ns) {
    // Unsigned, because an agent may send any number: signed arithmetic could overflow.
    std::optional<uint64_t>& ahead_ns = ahead_ns_[agent];
    if (!ahead_ns) ahead_ns = static_cast<uint64_t>(sent_ns) - static_cast<uint64_t>(now_ns);
    return static_cast<int64_t>(static_cast<uint64_t>(when_ns) - *ahead_ns);
  }

 private:
  std::vector<std::optional<uint64_t>> ahead_ns_;  ///< by agent
};

}  // namespace dt

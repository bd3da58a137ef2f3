#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// The wall clocks of hosts, by ours. Each is compared with ours once, at the first word that tells
/// of it: so times of one host keep their order however long later words travel, and those of
/// several are as exact as the first ones were quick.
class HostClocks {
 public:
  explicit HostClocks(size_t agents) : ahead_ns_(agents) {}

  /// When something was by our clock: `when_ns` by that of the agent's host, which showed `sent_ns`
  /// as the agent said so, which we hear at `now_ns`.
  int64_t by_ours(size_t agent, int64_t when_ns, int64_t sent_ns, int64_t now_ns) {
    // Unsigned: what an agent says may be any number.
    std::optional<uint64_t>& ahead_ns = ahead_ns_[agent];
    if (!ahead_ns) ahead_ns = static_cast<uint64_t>(sent_ns) - static_cast<uint64_t>(now_ns);
    return static_cast<int64_t>(static_cast<uint64_t>(when_ns) - *ahead_ns);
  }

 private:
  std::vector<std::optional<uint64_t>> ahead_ns_;  ///< by agent
};

}  // namespace dt

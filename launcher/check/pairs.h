#pragma once

#include "launcher/check/finding.h"
#include "launcher/network/probe.h"
#include "launcher/protocol/diagnose_messages.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

using Pair = std::pair<size_t, size_t>;  ///< of hosts: who dials, and whom

/// Up to so many hosts every pair is measured, above that each host with the next, in a ring: the
/// time that all of it takes then no longer grows with the hosts.
inline constexpr size_t measured_hosts_max = 8;

/// Who measures with whom. The pairs of a round have no host in common, so that they do not disturb
/// each other; every pair comes once.
std::vector<std::vector<Pair>> measuring_rounds(size_t hosts);

/// How one host reaches another.
struct PairReport {
  std::string from;
  std::string to;
  std::string address;  ///< that leads there; empty: none does
  std::optional<Speed> speed;
  Grade grade = Grade::ok;
  std::string text = {};  ///< what is wrong; empty when nothing is
  std::string remedy = {};
  bool operator==(const PairReport&) const = default;
};

/// What was seen of a pair.
struct PairSeen {
  std::string from;
  std::string to;
  std::vector<Address> tried;
  std::vector<Address> reached;  ///< of these, in the same order
  std::optional<Speed> speed = {};
  std::string failure = {};  ///< why it was not measured
};
PairReport pair_report(const PairSeen& seen);

}  // namespace dt

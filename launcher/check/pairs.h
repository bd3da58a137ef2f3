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

using Pair = std::pair<size_t, size_t>;  ///< indices of hosts: the first dials the second

/// Up to so many hosts every pair is measured. With more hosts, each one is measured with the next,
/// in a ring. The time then does not grow with the number of hosts.
inline constexpr size_t measured_hosts_max = 8;

/// The pairs to measure, each once, in rounds. The pairs of a round have no host in common, so that
/// they do not disturb each other.
std::vector<std::vector<Pair>> measuring_rounds(size_t hosts);

/// How one host reaches another.
struct PairReport {
  std::string from;
  std::string to;
  std::string address;  ///< of `to`, which `from` reached; empty: it reached none
  std::optional<Speed> speed;
  Grade grade = Grade::ok;
  std::string text = {};  ///< the problem; empty: there is none
  std::string remedy = {};
  bool operator==(const PairReport&) const = default;
};

/// All that `dtrain check` knows about a pair.
struct PairSeen {
  std::string from;
  std::string to;
  std::vector<Address> tried;
  std::vector<Address> reached;  ///< the part of `tried` that was reached, in the same order
  std::optional<Speed> speed = {};
  std::string failure =
      {};  ///< why there is no speed; empty: there is, or the pair was only dialed
};
PairReport pair_report(const PairSeen& seen);

}  // namespace dt

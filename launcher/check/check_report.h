#pragma once

#include "base/json.h"
#include "base/wall_time.h"
#include "launcher/check/finding.h"
#include "launcher/check/host_findings.h"
#include "launcher/check/pairs.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dt {

/// All that `dtrain check` has found.
struct CheckReport {
  std::vector<HostSeen> seen;     ///< one a host, as below
  std::vector<HostReport> hosts;  ///< in the order given
  std::vector<PairReport> pairs;
  WallClock::time_point began_at;
  Duration took{};

  Grade grade() const;
};

/// How the table shall look.
struct TableLook {
  size_t columns = 80;
  bool colored = false;
  /// Of hosts and pairs that are well not every line, only that they are.
  bool brief = false;
};
/// A table a host, one of pairs, and the sum.
std::string check_text(const CheckReport& report, const TableLook& look);

/// What --json prints; man/dtrain-check.1.in describes the members.
Json check_document(const CheckReport& report);

}  // namespace dt

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
  std::vector<HostSeen> seen;     ///< in the order of `hosts`
  std::vector<HostReport> hosts;  ///< in the order of the command line
  std::vector<PairReport> pairs;
  WallClock::time_point began_at;
  Duration took{};

  Grade grade() const;
};

/// The form of the table.
struct TableStyle {
  size_t columns = 80;
  bool colored = false;
  /// One line for a host without warnings and failures, and one for all such pairs together.
  bool brief = false;
};
/// A table for each host, one for the pairs, and a line with the counts.
std::string check_text(const CheckReport& report, const TableStyle& style);

/// The document of --json; man/dtrain-check.1.in describes its members.
Json check_document(const CheckReport& report);

}  // namespace dt

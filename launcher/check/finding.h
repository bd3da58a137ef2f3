#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// How good a finding is; a larger value is worse.
enum class Grade : uint8_t { ok, warning, failure };

constexpr std::string_view name_of(Grade grade) {
  return grade == Grade::ok ? "ok" : grade == Grade::warning ? "warning" : "failure";
}

/// One result of `dtrain check` about a host.
struct Finding {
  std::string topic;  ///< "shared_memory" in --json; the table has blanks
  Grade grade = Grade::ok;
  std::string text;
  std::string remedy = {};  ///< empty: there is none, or the text has it
  bool operator==(const Finding&) const = default;
};

/// A host with its findings.
struct HostReport {
  std::string name;
  std::vector<Finding> findings;
  Grade grade() const {
    Grade worst = Grade::ok;
    for (const Finding& finding : findings)
      worst = std::max(worst, finding.grade);
    return worst;
  }
  bool operator==(const HostReport&) const = default;
};

}  // namespace dt

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// How good what was found is; the larger the worse.
enum class Grade : uint8_t { ok, warning, failure };

constexpr std::string_view name_of(Grade grade) {
  return grade == Grade::ok ? "ok" : grade == Grade::warning ? "warning" : "failure";
}

/// One thing that `dtrain check` has looked at on a host.
struct Finding {
  std::string topic;  ///< "shared_memory": as --json has it; in the table with blanks
  Grade grade = Grade::ok;
  std::string text;
  std::string remedy = {};  ///< empty where nothing is to be done, or where the text says it
  bool operator==(const Finding&) const = default;
};

/// A host, with what was found on it.
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

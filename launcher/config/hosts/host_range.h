#pragma once

#include "base/result.h"
#include "launcher/config/hosts/source_location.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The names that "node[01-16]" or "r[1-2]n[1-3,7]" stand for, the last range running fastest;
/// numbers keep the width of the range's first. A name without brackets stands for itself. At most
/// hosts_max names.
Result<std::vector<std::string>> expand_ranges(std::string_view name, const SourceLocation& place);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/config/hosts/source_location.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Splits at commas outside of brackets.
std::vector<std::string_view> split_at_commas(std::string_view text);

/// Expands "node[01-16]" or "r[1-2]n[1-3,7]" to names. The last range runs fastest, and numbers
/// keep the width of the range's first. Returns a name without brackets as it is. Fails for more
/// than hosts_max names.
Result<std::vector<std::string>> expand_ranges(std::string_view name, const SourceLocation& place);

/// Returns the names as a list of ranges, "n[1-3],m5", which has them in the same order.
std::string compress_names(const std::vector<std::string>& names);

}  // namespace dt

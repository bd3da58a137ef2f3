#pragma once

#include "base/result.h"
#include "launcher/config/hosts/source_location.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Expands "node[01-16]" or "r[1-2]n[1-3,7]" to names. The last range runs fastest, and numbers
/// keep the width of the range's first. Returns a name without brackets as it is. Fails for more
/// than hosts_max names.
Result<std::vector<std::string>> expand_ranges(std::string_view name, const SourceLocation& place);

}  // namespace dt

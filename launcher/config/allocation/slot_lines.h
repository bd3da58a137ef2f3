#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <string_view>
#include <vector>

namespace dt {

/// Parses a file with a host on each line, one line for each of its slots. Blank lines are allowed.
/// `source` names the file in errors.
Result<std::vector<Host>> parse_slot_lines(std::string_view text, std::string_view source);

}  // namespace dt

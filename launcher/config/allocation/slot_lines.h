#pragma once

#include "base/result.h"
#include "launcher/config/allocation/allocated_hosts.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/source_location.h"

#include <functional>
#include <string_view>
#include <vector>

namespace dt {

/// Adds the words of a line, at least one, to the hosts. Errors name their place.
using AddHostLine = std::function<Result<>(
    AllocatedHosts& hosts, const std::vector<std::string_view>& words, const SourceLocation& line)>;

/// Parses a file with hosts on its lines. Blank lines are allowed. `source` names the file in
/// errors.
Result<std::vector<Host>> parse_host_lines(std::string_view text, std::string_view source,
                                           const AddHostLine& add);
/// Parses a file with a host on each line, one line for each of its slots. Blank lines are allowed.
/// `source` names the file in errors.
Result<std::vector<Host>> parse_slot_lines(std::string_view text, std::string_view source);

}  // namespace dt

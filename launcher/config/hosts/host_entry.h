#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/source_location.h"

#include <string_view>
#include <vector>

namespace dt {

/// Parses one entry of a list of hosts, `[user@]host[:slots]`. Returns a host for each name that
/// its ranges stand for.
Result<std::vector<Host>> parse_host_entry(std::string_view text, const SourceLocation& place);

/// Parses a host's number of slots. `what` names it in errors: "slots", "max_slots".
Result<int> parse_slots(std::string_view text, std::string_view what, std::string_view host,
                        const SourceLocation& place);

}  // namespace dt

#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// Parses ProxyJump's "[user@]host[:port],…" or "ssh://…". Returns it as `ssh -G` prints it; empty
/// for "none". An error does not contain the place.
Result<std::string> parse_ssh_jumps(std::string_view text);

}  // namespace dt

#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace dt {

/// ProxyJump's "[user@]host[:port],…" or "ssh://…" as `ssh -G` would print it; empty for "none".
/// An error has no place.
Result<std::string> parse_ssh_jumps(std::string_view text);

}  // namespace dt

#pragma once

#include "base/clock.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Why no agent runs on a host. The lines behind the first are indented.
struct HostFailure {
  std::string host;
  std::string why;
};

/// Returns the lines for a user: "node1: why". A text that several hosts share, apart from their
/// names, stands there once, behind all names. So do further lines that they share, such as the
/// commands that accept unknown keys. Commands of ssh become a loop over the hosts.
std::string joined_failures(std::span<const HostFailure> failures);

/// Returns why agents count as lost after this process was suspended for `away`.
std::string suspension_text(Duration away, Duration lease);
/// Returns why no answer to `what` came, from these hosts or from one that the caller names.
std::string no_answer(std::string_view what, const std::vector<std::string>& hosts = {});

}  // namespace dt

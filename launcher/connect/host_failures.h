#pragma once

#include <span>
#include <string>

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

}  // namespace dt

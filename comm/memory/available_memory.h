#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// Returns how many bytes this process can still allocate before the kernel ends processes. That is
/// the least of the host's available memory and the rest of each limit of its cgroups, without the
/// files that the kernel may drop. None when the kernel reports nothing. `root` comes before the
/// paths of /proc and /sys.
std::optional<uint64_t> available_memory(const std::string& root = "");

}  // namespace dt

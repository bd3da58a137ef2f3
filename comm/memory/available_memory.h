#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Returns how many bytes this process can still allocate before the kernel ends processes. That is
/// the least of the host's available memory and the rest of each limit of its cgroups. Files that
/// the kernel may drop do not count as used. None when the kernel reports nothing. `root` comes
/// before the paths of /proc and /sys.
std::optional<uint64_t> available_memory(const std::string& root = "");

/// Returns how much can be allocated before the kernel ends processes, if that is known.
using AvailableMemory = std::function<std::optional<uint64_t>()>;

/// The error of an allocation for which memory is short: how much was wanted, and how much there
/// is. `what` is "shared memory", and what it is for.
tl::unexpected<Error> too_little_memory(std::string_view what, size_t wanted,
                                        std::optional<uint64_t> available);

}  // namespace dt

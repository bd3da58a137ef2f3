#pragma once

#include "base/result.h"

#include <cstdint>
#include <string_view>

namespace dt {

/// Raises this process's soft limit of descriptors to the hard one; returns what it was, for
/// children.
uint64_t raise_open_files_limit();
void set_open_files_limit(uint64_t soft);

/// Descriptors that this process has open now.
uint64_t count_open_files();

/// Errc::input, with the numbers, when this process may not open so many more. `for_what`: "14
/// tasks".
Result<> check_open_files(uint64_t more, std::string_view for_what);

/// What an agent opens for its tasks: three pipes and the process of each, its ports, and some that
/// are only open for a moment.
uint64_t open_files_of_tasks(int tasks, uint64_t port_files);

}  // namespace dt

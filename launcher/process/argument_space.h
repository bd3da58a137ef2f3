#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// Bytes that execve(2) counts against its limit: each text with its NUL, and the pointer to it.
uint64_t argument_bytes(const std::vector<std::string>& arguments);
uint64_t argument_bytes(const Environment& environment);

/// Limit of execve(2) for arguments and environment together, in bytes. It is a quarter of
/// RLIMIT_STACK, but at least 128 KiB and at most 6 MiB.
uint64_t argument_bytes_max(uint64_t stack_bytes);
/// The limit for programs that this process starts.
uint64_t own_argument_bytes_max();

/// Fails with Errc::input when the command and an environment of this size exceed `bytes_max`.
Result<> check_argument_space(const std::vector<std::string>& command, uint64_t environment_bytes,
                              uint64_t bytes_max);

}  // namespace dt

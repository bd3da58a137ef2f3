#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// What execve counts for these: each text with its NUL, and its pointer.
uint64_t argument_bytes(const std::vector<std::string>& arguments);
uint64_t argument_bytes(const Environment& environment);

/// How much of both execve takes, by RLIMIT_STACK in bytes: a quarter of it, but 128 KiB at least
/// and 6 MiB at most.
uint64_t argument_bytes_max(uint64_t stack_bytes);
/// The same for what this process starts.
uint64_t own_argument_bytes_max();

/// Whether a command fits with an environment of so many bytes.
Result<> check_argument_space(const std::vector<std::string>& command, uint64_t environment_bytes,
                              uint64_t bytes_max);

}  // namespace dt

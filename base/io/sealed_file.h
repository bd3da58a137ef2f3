#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>

namespace dt {

// Memory that processes of one host share by a descriptor: an unnamed file (memfd_create). Once its
// size is sealed, no peer can shrink it, and so end the others by SIGBUS. The kernel frees it with
// its last process.

/// True when this process may make a file of that size. Beyond the limit (RLIMIT_FSIZE), the kernel
/// would send SIGXFSZ.
bool may_make(uint64_t bytes);

Result<> seal_size(int fd);
/// Returns the size. Fails with Errc::protocol when it is not sealed.
Result<uint64_t> sealed_size(int fd);

/// Maps the first bytes. A forked child does not have them. So it cannot write into the memory.
/// Fails with Errc::out_of_memory when the process has no place for them.
Result<std::byte*> map_shared(int fd, size_t bytes);

}  // namespace dt

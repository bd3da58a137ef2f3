#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/memory/available_memory.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace dt {

/// Memory that processes of one host share: an unnamed memfd. Once its size is sealed, no peer can
/// shrink it. The kernel frees it with its last process.

/// Allocates all bytes, so that no later access can fail because memory is short. They are zero.
/// Fails with Errc::os when less is available. `what` is "shared memory", and what it is for.
Result<Fd> allocate_shared(const std::string& what, size_t bytes, const AvailableMemory& available);
/// Allocates bytes of the file. Returns an error number; 0: none.
int allocate_in(int fd, size_t begin, size_t bytes);

Result<> seal_size(int fd);
/// Returns the size. Fails with Errc::protocol when it is not sealed.
Result<uint64_t> sealed_size(int fd);

/// Maps the first bytes. A forked child does not have them. So it cannot write into the memory.
Result<std::byte*> map_shared(int fd, size_t bytes);

}  // namespace dt

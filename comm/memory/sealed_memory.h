#pragma once

#include "base/io/fd.h"
#include "base/io/sealed_file.h"
#include "base/result.h"
#include "comm/memory/available_memory.h"

#include <cstddef>
#include <string>

namespace dt {

/// Makes memory that processes of one host share (base/io/sealed_file.h), not sealed yet. Allocates
/// all bytes, so that no later access can fail because memory is short. They are zero.
/// Fails with Errc::os when less is available. `what` is "shared memory", and what it is for.
Result<Fd> allocate_shared(const std::string& what, size_t bytes, const AvailableMemory& available);
/// Allocates bytes of the file. Returns an error number; 0: none.
int allocate_in(int fd, size_t begin, size_t bytes);

}  // namespace dt

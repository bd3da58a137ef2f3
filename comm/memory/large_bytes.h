#pragma once

#include "base/bytes.h"

#include <cstddef>

namespace dt {

// Many bytes, which lie in huge pages if the kernel has some: loops over them wait less for
// addresses then. Pages that malloc() has used before stay as they are.

/// Returns as many zeros.
Bytes make_large_bytes(size_t size);

/// Returns a copy.
Bytes copy_to_large_bytes(ByteSpan bytes);

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstddef>
#include <span>

namespace dt {

/// Sends bytes to a non-blocking connection whose empty buffer has room for all of them. Signals
/// and partial sends do not end it. Fails with Errc::closed when the connection takes no more.
Result<> send_small(int fd, ByteSpan bytes);
/// Reads from a non-blocking connection. Returns the number of bytes, 0 when none has arrived.
/// Fails with Errc::closed at the end.
Result<size_t> read_ready(int fd, std::span<std::byte> buffer);

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/result.h"

namespace dt {

/// Sends bytes to a non-blocking connection whose empty buffer has room for all of them. Signals
/// and partial sends do not end it. Fails with Errc::closed when the connection takes no more.
Result<> send_small(int fd, ByteSpan bytes);

}  // namespace dt

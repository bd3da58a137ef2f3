#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/frame.h"
#include "base/result.h"
#include "launcher/sync/messages.h"

#include <optional>

namespace dt {

/// The frames of a host's sync process, which waits for them.
class HostFrames {
 public:
  explicit HostFrames(Fd connection) : connection_(std::move(connection)) {}

  /// Waits for a frame, and returns it, valid until the next call. None when the launcher has
  /// closed the connection. Fails with Errc::protocol for bytes that are no frame.
  Result<std::optional<FrameView>> read();
  int connection() const { return connection_.get(); }
  /// Waits for room. Fails when the connection is closed.
  Result<> write(SyncMessage type, ByteSpan payload = {});

 private:
  Fd connection_;
  Bytes received_;
  size_t used_ = 0;  ///< bytes at the front of `received_` that were returned
};

}  // namespace dt

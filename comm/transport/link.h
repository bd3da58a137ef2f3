#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstddef>
#include <span>

namespace dt {

/// Bytes between this task and one peer, in order, both ways, never blocking. TCP, shared memory
/// and the simulation implement it. The message layer gives the bytes a meaning.
class Link {
 public:
  virtual ~Link() = default;

  /// Sends the parts one after the other. Returns how many bytes it took, from the front (0 when
  /// the link is full). Fails with Errc::closed when the link is broken; the peer may be alive.
  virtual Result<size_t> send_parts(std::span<const ByteSpan> parts) = 0;
  Result<size_t> send(ByteSpan bytes) { return send_parts({&bytes, 1}); }
  /// Fills as much of `into` as has arrived (0 when nothing has). Fails with Errc::closed at the
  /// end of the stream.
  virtual Result<size_t> receive(std::span<std::byte> into) = 0;
  /// Ends both directions. A peer that continues to read receives all bytes sent before, then the
  /// end of the stream. No bytes are sent afterwards.
  virtual void close() = 0;
  /// True when others than the two ends could write on the link (TCP), so that headers need a MAC.
  virtual bool exposed() const = 0;
};

}  // namespace dt

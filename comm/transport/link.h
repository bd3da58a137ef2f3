#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <cstddef>
#include <span>

namespace dt {

/// Bytes between this task and one peer, in order, both ways, never blocking. TCP, shared memory
/// and the simulation implement it; what the bytes mean is the message layer's affair.
class Link {
 public:
  virtual ~Link() = default;

  /// Takes as many bytes as go now (0 when the link is full). Errc::closed when it is broken; that
  /// is no verdict on the peer.
  virtual Result<size_t> send(ByteSpan bytes) = 0;
  /// Fills as much of `into` as has arrived (0 when nothing has). Errc::closed at its end.
  virtual Result<size_t> receive(std::span<std::byte> into) = 0;
  /// Ends it for good, so that the peer finds out as well: what was sent before still arrives
  /// there, if the peer's process reads on, then the end. No bytes are sent afterwards.
  virtual void close() = 0;
  /// Whether anybody but the two ends can write on it, so that headers need a MAC: true for TCP
  /// only.
  virtual bool exposed() const = 0;
};

}  // namespace dt

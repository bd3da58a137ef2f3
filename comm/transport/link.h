#pragma once

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "comm/transport/ready_set.h"

#include <cstddef>
#include <memory>
#include <span>

namespace dt {

class Session;

/// Bytes between this task and one peer, in order, both ways, never blocking. TCP, shared memory
/// and the simulation implement it. The message layer gives the bytes a meaning.
class Link {
 public:
  virtual ~Link() = default;

  /// Asks a link that connects at its first use to do so. Without effect on all others.
  virtual void connect() {}
  /// True when bytes can pass. Fails when the link could not be connected.
  virtual Result<bool> connected() const { return true; }
  /// Returns the keys that the two ends made when they connected; null if they made none.
  virtual Session* session() { return nullptr; }

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
  /// Called while the peer's system may owe acknowledgements, about once a second and sooner after
  /// a send. Returns false when it owes none. Fails with Errc::timeout when it has not answered for
  /// `silence_max`. A peer that is stopped, but whose system answers, is not silent. Two calls at
  /// least are needed to find silence.
  virtual Result<bool> check_answers(Duration /*silence_max*/) { return false; }
  /// True when others than the two ends could write on the link (TCP), so that headers need a MAC.
  virtual bool exposed() const = 0;
  /// Asks the link to add `index` to `arrivals` whenever receive() may have something new. Returns
  /// false when the link cannot know it; its user then calls receive() in every round.
  virtual bool report_arrivals(const std::shared_ptr<ReadySet>& /*arrivals*/, size_t /*index*/) {
    return false;
  }
  /// False when receive() has nothing before the next report.
  virtual bool may_receive() const { return true; }
  /// Makes the next receive() check for bytes, also without a report. Returns false when only a
  /// report can show that the link has changed.
  virtual bool poll() { return true; }
};

}  // namespace dt

#pragma once

#include "base/clock.h"

#include <optional>

namespace dt {

/// Decides when launcher or agent counts as dead because its peer has received nothing. Pure.
///
/// Silence of the peer counts only while this process itself runs. A process that was stopped, or
/// frozen together with its peer, received nothing for that reason: the lease starts again. A check
/// that comes late means that this process was blocked (a busy machine, a slow disk). Messages may
/// then be unread, so that delay does not count either.
class Lease {
 public:
  /// `heartbeat` is the interval in which over() is called, and in which the peer sends.
  Lease(Duration heartbeat, Duration dead_after, Time now)
      : heartbeat_(heartbeat), dead_after_(dead_after), last_heard_(now), last_check_(now) {}

  void heard(Time now) { last_heard_ = now; }
  /// Starts the lease again: the peers had agreed to be silent until now (`pause`).
  void restart(Time now);
  /// Returns true if the peer was silent for longer than `dead_after`. Requires a call at every
  /// heartbeat at least.
  bool over(Time now);
  /// Returns when it is over, if the peer stays silent.
  Time end() const { return last_heard_ + dead_after_; }
  /// Returns how long this process was suspended, if that was recent and longer than the lease.
  /// Then the peer has closed the connection because of its own lease, whatever error the link
  /// shows.
  std::optional<Duration> suspended(Time now) const;
  Duration dead_after() const { return dead_after_; }

 private:
  Duration heartbeat_;
  Duration dead_after_;
  Time last_heard_;
  Time last_check_;
  std::optional<Duration> suspended_;
  Time woke_;
};

}  // namespace dt

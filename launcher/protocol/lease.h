#pragma once

#include "base/clock.h"

#include <optional>

namespace dt {

/// How long launcher and agent believe in each other without a word. Pure.
///
/// The silence of the other side counts only while this process itself ran: who was stopped, or
/// frozen together with the other side, has heard nothing for a reason of its own, and gives the
/// other side as long again. Who looks late was held up (a busy machine, a disk that did not
/// answer) and may have words before it that it has not read yet; that time does not count either.
class Lease {
 public:
  /// `heartbeat`: how often it will look, and so will the other side speak.
  Lease(Duration heartbeat, Duration dead_after, Time now)
      : heartbeat_(heartbeat), dead_after_(dead_after), last_heard_(now), last_look_(now) {}

  void heard(Time now) { last_heard_ = now; }
  /// The time until now did not count: both sides had agreed to be silent.
  void restart(Time now);
  /// True if the other side was silent for too long. To be asked at every heartbeat.
  bool over(Time now);
  /// For how long this process was suspended, if that was longer than the lease and just now: then
  /// the other side has given us up, whatever its end looks like.
  std::optional<Duration> suspended(Time now) const;

 private:
  Duration heartbeat_;
  Duration dead_after_;
  Time last_heard_;
  Time last_look_;
  std::optional<Duration> suspended_;
  Time woke_;
};

}  // namespace dt

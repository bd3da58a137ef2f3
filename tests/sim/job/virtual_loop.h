#pragma once

#include "base/io/loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>

namespace dt {

/// The one clock of a simulation.
struct VirtualTime {
  Time now = Time(seconds(1000));
};

/// A loop that never waits. When none of its events is ready, `idle` lets other hosts act, or time
/// pass.
class VirtualLoop final : public Loop {
 public:
  /// Causes an event elsewhere, or lets time pass, at most to `until`. Returns false when no event
  /// can ever come.
  using Idle = std::function<bool(Time until)>;
  /// Without `idle` a wait returns at once, and only turn() runs the loop.
  static Result<std::unique_ptr<VirtualLoop>> create(const VirtualTime& time, Idle idle) {
    Fd epoll = TRY(make_epoll());
    return std::unique_ptr<VirtualLoop>(new VirtualLoop(std::move(epoll), time, std::move(idle)));
  }

  Time now() const override { return time_.now; }
  /// Handles all events that are due now. Returns false if there were none.
  bool turn() {
    const bool due = next_timer() <= now();
    ready_ = 0;
    return run_once(now()).has_value() && (due || ready_ > 0);
  }
  using Loop::next_timer;

 protected:
  int wait(std::span<epoll_event> events, Time until) override {
    for (;;) {
      ready_ = poll_events(events, 0);
      // Events elsewhere may have set a timer.
      const Time next = std::min(until, next_timer());
      if (ready_ != 0 || next <= now() || !idle_) return ready_;
      if (idle_(next)) continue;
      errno = EDEADLK;  // a real loop would block without end
      return -1;
    }
  }

 private:
  VirtualLoop(Fd epoll, const VirtualTime& time, Idle idle)
      : Loop(std::move(epoll)), time_(time), idle_(std::move(idle)) {}

  const VirtualTime& time_;
  Idle idle_;
  int ready_ = 0;
};

}  // namespace dt

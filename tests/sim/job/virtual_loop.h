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

/// A loop that never waits: when nothing of its own is ready, it lets others act or time pass.
class VirtualLoop final : public Loop {
 public:
  /// Lets something else happen, or time pass, at most until then; false when nothing ever will.
  using Idle = std::function<bool(Time until)>;
  /// Without `idle` it returns at once, and turn() is what moves it.
  static Result<std::unique_ptr<VirtualLoop>> create(const VirtualTime& time, Idle idle) {
    Fd epoll = TRY(make_epoll());
    return std::unique_ptr<VirtualLoop>(new VirtualLoop(std::move(epoll), time, std::move(idle)));
  }

  Time now() const override { return time_.now; }
  /// Does what is due now; false if there was nothing.
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
      // What others did meanwhile may have set a timer.
      const Time next = std::min(until, next_timer());
      if (ready_ != 0 || next <= now() || !idle_) return ready_;
      if (idle_(next)) continue;
      errno = EDEADLK;  // on a real loop this would be for ever
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

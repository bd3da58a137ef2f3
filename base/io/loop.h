#pragma once

#include "base/clock.h"
#include "base/io/fd.h"
#include "base/result.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>

struct epoll_event;  // NOLINT(readability-identifier-naming): the kernel's

namespace dt {

class Loop;

/// The watch of a Loop on one descriptor, until this object is destroyed. Destroy it before the
/// descriptor is closed. Its handler may destroy it.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();

  /// Changes the epoll events to wait for: EPOLLIN, EPOLLOUT, or 0 for errors and hang-ups only.
  /// With 0, these are reported once.
  void set_events(uint32_t events);
  explicit operator bool() const { return loop_ != nullptr; }

 private:
  friend class Loop;
  Watch(Loop& loop, uint64_t id) : loop_(&loop), id_(id) {}
  Loop* loop_ = nullptr;
  uint64_t id_ = 0;
};

/// A pending call of a Loop, cancelled when this object is destroyed.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&& other) noexcept;
  Timer& operator=(Timer&& other) noexcept;
  ~Timer();
  /// True while the call is pending.
  explicit operator bool() const;

 private:
  friend class Loop;
  Timer(Loop& loop, Time when, uint64_t id) : loop_(&loop), when_(when), id_(id) {}
  Loop* loop_ = nullptr;
  Time when_;
  uint64_t id_ = 0;
};

/// One epoll and its timers: everything that a thread waits for. Callbacks run on the thread that
/// calls `run`, one at a time, and must not block. A Loop outlives its Watches and Timers.
///
/// Code that waits on a loop takes the time from now(), not from Clock. In a simulation's loop,
/// time advances only when no event is left.
class Loop {
 public:
  static Result<std::unique_ptr<Loop>> create();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  virtual ~Loop() = default;

  virtual Time now() const { return Clock::now(); }

  using Handler = std::function<void(uint32_t events)>;
  /// Calls `handler` whenever `fd` has one of `events`. Fails for files that epoll refuses (regular
  /// ones).
  Result<Watch> watch(int fd, uint32_t events, Handler handler);
  /// Calls `callback` once, at `when` or shortly after it.
  Timer at(Time when, std::function<void()> callback);
  Timer after(Duration delay, std::function<void()> callback);

  /// Runs callbacks until one of them calls stop().
  Result<> run();
  /// One round: waits for an event or a timer until `deadline` at most, and runs the due callbacks.
  Result<> run_once(Time deadline);
  void stop() { stopped_ = true; }

 protected:
  explicit Loop(Fd epoll) : epoll_(std::move(epoll)) {}
  static Result<Fd> make_epoll();
  /// Waits for events until `until` at most. Returns their number, as epoll_wait(2).
  virtual int wait(std::span<epoll_event> events, Time until);
  /// Calls epoll_wait(2) and returns its result.
  int poll_events(std::span<epoll_event> events, int wait_ms) const;
  /// Returns Time::max() when there is no timer.
  Time next_timer() const { return timers_.empty() ? Time::max() : timers_.begin()->first.first; }

 private:
  friend class Watch;
  friend class Timer;
  struct Entry {
    int fd = -1;
    uint32_t events = 0;
    Handler handler;
    bool live = true;
  };

  void run_timers();

  Fd epoll_;
  bool stopped_ = false;
  uint64_t next_id_ = 1;
  std::map<uint64_t, std::shared_ptr<Entry>> entries_;  // shared with a handler while it runs
  std::map<std::pair<Time, uint64_t>, std::function<void()>> timers_;
};

}  // namespace dt

#pragma once

#include "base/clock.h"
#include "comm/driver/predicate_ref.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace dt {

struct Operation;

/// The state that a thread waits for, and its deadline.
struct Goal {
  PredicateRef reached;
  Time deadline = Time::max();
  const Operation* operation = nullptr;  ///< that is waited for; null for other states
};

/// The mutex of an engine, and the threads that sleep until the thread that drives has reached
/// their goals. All functions but enter() and wanted() require the lock.
class Monitor {
 public:
  using Lock = std::unique_lock<std::mutex>;

  Monitor();

  Lock enter();
  /// Returns a lock that owns nothing when another thread has the mutex.
  Lock try_enter() { return Lock(mutex_, std::try_to_lock); }
  /// True when other threads want the mutex.
  bool wanted() const { return woken_ > 0 || entering_.load(std::memory_order_relaxed) > 0; }
  /// Lets waiting threads lock the mutex. A mutex is not fair: without this, a driver that always
  /// has work would exclude all others.
  void yield(Lock& lock);

  /// Sleeps until the goal is reached or any thread calls wake_all(), but not longer than until
  /// that time of the monotonic clock.
  void wait(Lock& lock, const Goal& goal, Time until);
  // Without a goal: until wake_all(), or for a moment.
  void wait(Lock& lock, Time until) { changed_.wait_until(lock, until); }
  void wait(Lock& lock) { changed_.wait(lock); }
  /// Wakes the threads that have reached their goals, each once.
  void wake_reached();
  void wake_all() { changed_.notify_all(); }

 private:
  struct Sleeper {
    const Goal* goal;
    bool woken = false;  ///< it has reached its goal, and was notified
  };

  std::mutex mutex_;
  std::condition_variable changed_;  ///< a sleeper was woken, or no thread drives any more
  std::atomic<int> entering_ = 0;    ///< threads that want the mutex
  std::vector<Sleeper*> sleepers_;
  int woken_ = 0;  ///< sleepers that were woken and have not locked the mutex yet
};

}  // namespace dt

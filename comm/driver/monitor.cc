#include "comm/driver/monitor.h"

#include <thread>

namespace dt {

namespace {

/// How often a driver offers the mutex to other threads before it continues. They need some
/// microseconds to wake up.
constexpr int yield_turns_max = 64;
constexpr size_t usual_sleepers = 8;

}  // namespace

Monitor::Monitor() {
  sleepers_.reserve(usual_sleepers);
}

Monitor::Lock Monitor::enter() {
  entering_.fetch_add(1, std::memory_order_relaxed);
  Lock lock(mutex_);
  entering_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

void Monitor::yield(Lock& lock) {
  for (int turn = 0; turn < yield_turns_max; ++turn) {
    if (!wanted()) return;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

void Monitor::wait(Lock& lock, const Goal& goal, Time until) {
  Sleeper self{&goal};
  sleepers_.push_back(&self);
  changed_.wait_until(lock, until);
  std::erase(sleepers_, &self);
  if (self.woken) --woken_;
}

void Monitor::wake_reached() {
  bool any = false;
  for (Sleeper* sleeper : sleepers_) {
    if (sleeper->woken || !sleeper->goal->reached()) continue;
    sleeper->woken = true;
    ++woken_;
    any = true;
  }
  if (any) changed_.notify_all();
}

}  // namespace dt

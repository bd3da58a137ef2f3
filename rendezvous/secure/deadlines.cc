#include "rendezvous/secure/deadlines.h"

#include <utility>

namespace dt {

Deadlines::Deadlines(Loop& loop, Duration length, std::function<void(uint64_t id)> passed)
    : loop_(loop), length_(length), passed_(std::move(passed)) {
}

void Deadlines::start(uint64_t id) {
  timers_[id] = timer_of(id);
}

void Deadlines::suspend() {
  suspended_ = true;
  for (auto& [id, timer] : timers_)
    timer = Timer();
}

void Deadlines::restart() {
  suspended_ = false;
  for (auto& [id, timer] : timers_)
    timer = timer_of(id);
}

Timer Deadlines::timer_of(uint64_t id) {
  if (suspended_) return {};
  return loop_.after(length_, [this, id] { passed_(id); });
}

}  // namespace dt

#include "comm/driver/inbox.h"

#include <utility>

namespace dt {

void Inbox::put(Work work) {
  const std::lock_guard lock(mutex_);
  works_.push_back(std::move(work));
  size_.store(works_.size(), std::memory_order_relaxed);
}

Inbox::Work Inbox::take() {
  const std::lock_guard lock(mutex_);
  if (works_.empty()) return nullptr;
  Work first = std::move(works_.front());
  works_.pop_front();
  size_.store(works_.size(), std::memory_order_relaxed);
  return first;
}

bool Inbox::orphaned() {
  const std::lock_guard lock(mutex_);
  return !works_.empty() && !stepping();
}

bool Inbox::end_steps() {
  const std::lock_guard lock(mutex_);
  if (!works_.empty()) return false;
  stepping_.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace dt

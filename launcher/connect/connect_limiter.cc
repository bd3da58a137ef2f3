#include "launcher/connect/connect_limiter.h"

namespace dt {

std::unique_ptr<ConnectLimiter::Permit> ConnectLimiter::acquire(std::function<void()> on_granted) {
  auto permit = std::make_unique<Permit>(*this, std::move(on_granted));
  waiting_.push_back(permit.get());
  grant();
  return permit;
}

void ConnectLimiter::grant() {
  while (free_ > 0 && !waiting_.empty()) {
    Permit& next = *waiting_.front();
    waiting_.pop_front();
    --free_;
    next.granted_ = true;
    next.grant_timer_ = loop_.after(Duration::zero(), std::move(next.on_granted_));
  }
}

void ConnectLimiter::release(const Permit& permit) {
  if (permit.granted_) {
    ++free_;
    grant();
  } else {
    std::erase(waiting_, &permit);
  }
}

}  // namespace dt

#include "launcher/connect/connect_limiter.h"

namespace dt {

std::unique_ptr<ConnectLimiter::Permit> ConnectLimiter::ask(std::function<void()> go) {
  auto turn = std::make_unique<Permit>(*this, std::move(go));
  waiting_.push_back(turn.get());
  give();
  return turn;
}

void ConnectLimiter::give() {
  while (free_ > 0 && !waiting_.empty()) {
    Permit& next = *waiting_.front();
    waiting_.pop_front();
    --free_;
    next.had_ = true;
    next.going_ = loop_.after(Duration::zero(), std::move(next.go_));
  }
}

void ConnectLimiter::ended(const Permit& turn) {
  if (turn.had_) {
    ++free_;
    give();
  } else {
    std::erase(waiting_, &turn);
  }
}

}  // namespace dt

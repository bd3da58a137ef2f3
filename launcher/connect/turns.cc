#include "launcher/connect/turns.h"

namespace dt {

std::unique_ptr<Turns::Turn> Turns::ask(std::function<void()> go) {
  auto turn = std::make_unique<Turn>(*this, std::move(go));
  waiting_.push_back(turn.get());
  give();
  return turn;
}

void Turns::give() {
  while (free_ > 0 && !waiting_.empty()) {
    Turn& next = *waiting_.front();
    waiting_.pop_front();
    --free_;
    next.had_ = true;
    next.going_ = loop_.after(Duration::zero(), std::move(next.go_));
  }
}

void Turns::ended(const Turn& turn) {
  if (turn.had_) {
    ++free_;
    give();
  } else {
    std::erase(waiting_, &turn);
  }
}

}  // namespace dt

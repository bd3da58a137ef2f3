#include "comm/training/ps/api/context_rendezvous_view.h"

#include "base/running_time_clock.h"
#include "comm/driver/driver.h"

namespace dt {

Result<Reply> ContextRendezvousView::ask(const Request& request, Time deadline) {
  Driver& driver = context_->driver();
  const Duration left = std::max(deadline - Clock::now(), Duration::zero());
  Reply reply = TRY(driver.ask(request, driver.running_time() + left));
  if (reply.error) return tl::unexpected(*std::move(reply.error));
  return reply;
}

Result<> ContextRendezvousView::refresh() {
  for (Notice& notice : context_->driver().notices_from(taken_)) {
    notices_.push_back(std::move(notice));
    ++taken_;
  }
  return {};
}

std::optional<Notice> ContextRendezvousView::next_notice() {
  if (notices_.empty()) return std::nullopt;
  Notice notice = std::move(notices_.front());
  notices_.pop_front();
  return notice;
}

}  // namespace dt

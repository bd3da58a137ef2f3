#include "launcher/ssh/dialer.h"

#include "base/format.h"
#include "base/text.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

namespace dt {

namespace {

/// RFC 8305, section 5: the recommended delay between two attempts.
constexpr Duration head_start = milliseconds(250);
/// An error lists this many addresses and counts the rest: a name can have dozens.
constexpr size_t failures_listed_max = 4;

}  // namespace

Dialer::Dialer(Loop& loop, Target target, std::function<void(Result<Fd>)> on_done)
    : loop_(loop), target_(std::move(target)), on_done_(std::move(on_done)) {
  stagger_ = loop_.after(Duration::zero(), [this] { start_next(); });
}

void Dialer::start_next() {
  if (next_ == target_.addresses.size()) {
    if (!target_.addresses.empty()) return;
    // The callback may destroy the Dialer, and with it the original.
    const auto on_done = on_done_;
    on_done(fail(Errc::unreachable, "the host has no address"));
    return;
  }
  const size_t number = next_++;
  stagger_ = loop_.after(head_start, [this] { start_next(); });
  Result<Fd> socket = start_connect(target_.addresses[number], target_.from_ip);
  if (!socket) return attempt_failed(std::move(socket).error().message);
  Result<Watch> watch =
      loop_.watch(socket->get(), EPOLLOUT, [this, number](uint32_t) { ended(number); });
  if (!watch) return attempt_failed(std::move(watch).error().message);
  attempts_.push_back({number, *std::move(socket), *std::move(watch)});
}

void Dialer::ended(size_t number) {
  const auto at = std::find_if(attempts_.begin(), attempts_.end(),
                               [&](const Attempt& attempt) { return attempt.address == number; });
  Attempt attempt = std::move(*at);
  attempts_.erase(at);
  attempt.watch = Watch();
  const Result<> connected = connect_result(attempt.socket.get(), target_.addresses[number]);
  if (!connected) return attempt_failed(connected.error().message);
  attempts_.clear();
  stagger_ = Timer();
  const auto on_done = on_done_;
  on_done(std::move(attempt.socket));
}

void Dialer::attempt_failed(std::string why) {
  // connect_result ends its error with the reason.
  if (why.ends_with(errno_text(ECONNREFUSED))) ++refused_;
  if (failures_.size() < failures_listed_max) failures_.push_back(std::move(why));
  if (++failed_ < target_.addresses.size()) {
    // No attempt is left to wait for: start the next one at once.
    if (attempts_.empty()) stagger_ = loop_.after(Duration::zero(), [this] { start_next(); });
    return;
  }
  std::string text = join(failures_, "; ");
  if (failed_ > failures_.size()) text += format("; and {} more", failed_ - failures_.size());
  const Errc code = refused_ == failed_ ? Errc::refused : Errc::unreachable;
  const auto on_done = on_done_;
  on_done(fail(code, std::move(text)));
}

}  // namespace dt

#include "comm/transport/doorway.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/socket.h"
#include "comm/transport/local_socket.h"

#include <algorithm>

namespace dt {

namespace {
constexpr size_t local_name_bytes = 16;
/// At all TCP listeners together, so that a flood of strangers does not keep us from those that
/// have come in, nor takes their places before we have read from them.
constexpr size_t accepts_per_round = 64;
constexpr Duration out_of_descriptors_pause = milliseconds(100);

Result<> check_usable(uint16_t held_port) {
  if (held_port == 0 || check_unheard(held_port)) return {};
  return fail(Errc::refused,
              format("cannot listen at port {}, the one of --port-range that is held for this task "
                     "(DTRAIN_PORT): something else listens there; join the job before any server "
                     "of this task starts",
                     held_port));
}
}  // namespace

Result<Doorway> Doorway::open(Options options) {
  Doorway doorway(std::move(options));
  const uint16_t port = doorway.options_.held_port;
  if (!doorway.options_.tcp_ips.empty()) TRY(check_usable(port));
  for (const std::string& ip : doorway.options_.tcp_ips) {
    Fd listener = TRY(port == 0 ? listen_on({ip, 0}) : listen_on_held({ip, port}));
    doorway.tcp_.push_back(std::move(listener));
    doorway.contact_.tcp.push_back(TRY(local_address(doorway.tcp_.back().get())));
  }
  if (doorway.options_.local) {
    doorway.contact_.local = "dtrain-" + TRY(random_name(local_name_bytes));
    doorway.local_ = TRY(listen_local(doorway.contact_.local));
  }
  return doorway;
}

Time Doorway::next_deadline() const {
  Time next = closed_until_.value_or(Time::max());
  for (const auto& greeting : pending_)
    next = std::min(next, greeting->deadline());
  return next;
}

void Doorway::collect_fds(std::vector<pollfd>& fds) const {
  if (!closed_until_) {
    for (const Fd& listener : tcp_)
      fds.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
    if (local_) fds.push_back({.fd = local_.get(), .events = POLLIN, .revents = 0});
  }
  for (const auto& greeting : pending_)
    fds.push_back({.fd = greeting->fd(), .events = greeting->events(), .revents = 0});
}

Result<> Doorway::accept_waiting(const Fd& listener, bool local, Time now) {
  if (closed_until_ && now < *closed_until_) return {};
  closed_until_.reset();
  const size_t listeners = std::max(tcp_.size(), size_t{1});
  const size_t accepts = std::max(accepts_per_round / listeners, size_t{1});
  for (size_t i = 0; listener && i < accepts; ++i) {
    Result<Fd> accepted = accept_one(listener.get());
    if (!accepted) {
      // Out of descriptors or memory: the connection stays in the backlog, and asking again at once
      // would only spin.
      closed_until_ = now + out_of_descriptors_pause;
      return {};
    }
    Fd socket = *std::move(accepted);
    if (!socket) return {};
    if (local && !require_same_user(socket.get())) continue;
    if (!make_room(local)) continue;
    pending_.push_back(TRY(Greeting::accept(
        std::move(socket),
        {.claim = options_.claim, .deadline = now + options_.timeout, .local = local})));
  }
  return {};
}

/// Closes the oldest that has not proved itself; false where there is none. Peers at the local
/// socket are of our user: strangers at the others do not cost them their place.
bool Doorway::make_room(bool local) {
  if (pending_.size() < options_.pending_max) return true;
  auto oldest = std::ranges::find_if(
      pending_, [](const auto& greeting) { return !greeting->local() && greeting->unproved(); });
  if (oldest == pending_.end() && local) {
    oldest =
        std::ranges::find_if(pending_, [](const auto& greeting) { return greeting->unproved(); });
  }
  if (oldest == pending_.end()) return false;
  pending_.erase(oldest);
  return true;
}

Result<std::vector<std::unique_ptr<Greeting>>> Doorway::advance(Time now, const Judge& judge) {
  for (const Fd& listener : tcp_)
    TRY(accept_waiting(listener, false, now));
  TRY(accept_waiting(local_, true, now));
  std::vector<std::unique_ptr<Greeting>> done;
  std::vector<std::unique_ptr<Greeting>> pending;
  for (std::unique_ptr<Greeting>& greeting : pending_) {
    const bool late = now >= greeting->deadline();
    // Whatever is wrong with one of them is its own affair.
    if (!greeting->advance()) continue;
    // Whoever proves itself late has given up waiting for our word; but whoever had it in time and
    // is done counts on us, however late we look.
    if (greeting->proved() && (late || !judge(*greeting))) continue;
    if (late && !greeting->done()) continue;
    (greeting->done() ? done : pending).push_back(std::move(greeting));
  }
  pending_ = std::move(pending);
  return done;
}

}  // namespace dt

#include "comm/transport/peer_listener.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/socket.h"
#include "comm/transport/local_socket.h"

#include <sys/socket.h>

#include <algorithm>

namespace dt {

namespace {
constexpr size_t local_name_bytes = 16;

Result<> check_usable(uint16_t held_port) {
  if (held_port == 0 || check_no_listener(held_port)) return {};
  return fail(Errc::refused,
              format("cannot listen at port {}, the one of --port-range that is held for this task "
                     "(DTRAIN_PORT): something else listens there; join the job before any server "
                     "of this task starts",
                     held_port));
}
}  // namespace

Result<PeerListener> PeerListener::open(Options options) {
  PeerListener self(std::move(options));
  const uint16_t port = self.options_.held_port;
  if (!self.options_.tcp_ips.empty()) TRY(check_usable(port));
  for (const std::string& ip : self.options_.tcp_ips)
    TRY(self.listen_at(ip));
  if (self.options_.local) {
    const std::string name = TRY(random_name(local_name_bytes));
    self.endpoint_.local = "dtrain-" + name;
    self.local_ = TRY(listen_local(self.endpoint_.local));
  }
  return self;
}

size_t PeerListener::sockets_for(size_t unaccepted_max) {
  const size_t queue = listen_queue_max();
  if (unaccepted_max <= queue) return 1;
  // The kernel distributes by a hash, so each socket gets about half of what it can hold.
  return (2 * unaccepted_max + queue - 1) / queue;
}

Result<> PeerListener::listen_at(const std::string& ip) {
  Address address = {ip, options_.held_port};
  const size_t sockets = sockets_for(options_.unaccepted_max);
  for (size_t i = 0; i < sockets; ++i) {
    const bool alone = sockets == 1 && address.port == 0;
    Fd listener = TRY(alone ? listen_on(address) : listen_on_held(address));
    tcp_.push_back(std::move(listener));
    address = TRY(local_address(tcp_.back().get()));
  }
  endpoint_.tcp.push_back(std::move(address));
  return {};
}

Time PeerListener::next_deadline() const {
  Time next = closed_until_.value_or(Time::max());
  for (const Pending& pending : pending_)
    if (!pending.handshake->committed()) next = std::min(next, pending.handshake->deadline());
  return next;
}

void PeerListener::collect_fds(std::vector<pollfd>& fds) const {
  if (!closed_until_) {
    for (const Fd& listener : tcp_)
      fds.push_back({.fd = listener.get(), .events = POLLIN, .revents = 0});
    if (local_) fds.push_back({.fd = local_.get(), .events = POLLIN, .revents = 0});
  }
  for (const auto& [handshake, ready] : pending_)
    fds.push_back({.fd = handshake->fd(), .events = handshake->events(), .revents = 0});
}

void PeerListener::close_local() {
  local_.reset();
  std::erase_if(pending_, [](const Pending& pending) { return pending.handshake->local(); });
}

void PeerListener::close() {
  for (const Fd& listener : tcp_)
    ::shutdown(listener.get(), SHUT_RDWR);
  tcp_.clear();
  local_.reset();
  pending_.clear();
}

void PeerListener::take_events(std::span<const pollfd> fds) {
  const auto of_pending = fds.last(pending_.size());
  for (size_t i = 0; i < pending_.size(); ++i)
    pending_[i].ready = of_pending[i].revents != 0;
}

Result<> PeerListener::accept_waiting(const Fd& listener, bool local, Time now) {
  if (closed_until_ && now < *closed_until_) return {};
  closed_until_.reset();
  const size_t listeners = std::max(tcp_.size(), size_t{1});
  const size_t accepts = std::max(static_cast<size_t>(accepts_per_round) / listeners, size_t{1});
  for (size_t i = 0; listener && i < accepts; ++i) {
    Result<Fd> accepted = accept_one(listener.get());
    if (!accepted) {
      // Out of descriptors or memory: the connection stays in the backlog, and a retry at once
      // would only spin.
      closed_until_ = now + out_of_descriptors_pause;
      return {};
    }
    Fd socket = *std::move(accepted);
    if (!socket) return {};
    if (local && !require_same_user(socket.get())) continue;
    if (!make_room(local)) continue;
    auto handshake = TRY(PeerHandshake::accept(
        std::move(socket),
        {.claim = options_.claim, .deadline = now + options_.timeout, .local = local}));
    pending_.push_back({std::move(handshake)});
  }
  return {};
}

/// Makes room in a full list: closes the oldest unproved connection. Returns false when there is
/// none. Peers at the local socket have our user id, so a foreign TCP connection never displaces
/// them.
bool PeerListener::make_room(bool local) {
  if (pending_.size() < options_.pending_max) return true;
  auto oldest = std::ranges::find_if(pending_, [](const Pending& pending) {
    return !pending.handshake->local() && pending.handshake->unproved();
  });
  if (oldest == pending_.end() && local) {
    oldest = std::ranges::find_if(
        pending_, [](const Pending& pending) { return pending.handshake->unproved(); });
  }
  if (oldest == pending_.end()) return false;
  pending_.erase(oldest);
  return true;
}

Result<std::vector<std::unique_ptr<PeerHandshake>>> PeerListener::advance(Time now,
                                                                          const AdmitPeer& admit) {
  for (const Fd& listener : tcp_)
    TRY(accept_waiting(listener, false, now));
  TRY(accept_waiting(local_, true, now));
  std::vector<std::unique_ptr<PeerHandshake>> done;
  std::vector<Pending> pending;
  for (Pending& one : pending_) {
    PeerHandshake& handshake = *one.handshake;
    const bool late = now >= handshake.deadline() && !handshake.committed();
    if (!one.ready && !late) {
      pending.push_back(std::move(one));
      continue;
    }
    // An error on one connection closes that one only.
    if (!handshake.advance()) continue;
    // A proof that has arrived counts, even if we read it late: its peer waits for the verdict.
    if (handshake.proved() && !admit(handshake)) continue;
    if (handshake.done()) {
      done.push_back(std::move(one.handshake));
    } else if (!late || handshake.committed()) {
      pending.push_back(std::move(one));
    }
  }
  pending_ = std::move(pending);
  return done;
}

}  // namespace dt

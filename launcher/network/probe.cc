#include "launcher/network/probe.h"

#include "base/format.h"
#include "launcher/network/small_send.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace dt {

namespace {

/// The other addresses of the targets have this much time after each target is reached.
constexpr Duration moment = milliseconds(100);
/// The time for the launcher's addresses. Short: each job of a launcher behind a firewall that
/// drops packets waits for all of it.
constexpr Duration launcher_patience = milliseconds(500);

Digest proof_of(const Hmac& key, uint32_t number, ByteSpan nonce) {
  const Bytes machine = Writer().number(number).take();
  return key.digest({as_bytes("dtrain probe"), machine, nonce});
}

bool passes(int error) {
  return error == EAGAIN || error == EINTR;
}

}  // namespace

Result<std::unique_ptr<ProbeListener>> ProbeListener::open(Loop& loop, const ListenOptions& options,
                                                           const Token& token, uint32_t number,
                                                           Limits limits) {
  std::unique_ptr<ProbeListener> opened(new ProbeListener(loop, token, number, limits));
  ProbeListener& self = *opened;
  for (const auto& [interface, ip] : options.addresses) {
    auto listening =
        options.held_port == 0 ? listen_on({ip, 0}) : listen_on_held({ip, options.held_port});
    if (!listening) continue;
    const int fd = listening->get();
    const auto address = local_address(fd);
    if (!address) continue;
    Listener& listener = self.listeners_.emplace_back();
    listener.fd = *std::move(listening);
    listener.watch =
        TRY(loop.watch(fd, EPOLLIN, [&self, &listener](uint32_t) { self.accept(listener); }));
    self.endpoints_.push_back({*address, interface});
  }
  if (self.endpoints_.empty()) return fail(Errc::os, "cannot listen at any of its addresses");
  return opened;
}

void ProbeListener::accept(Listener& listener) {
  for (int i = 0; i < accepts_per_round; ++i) {
    Result<Fd> connection = accept_one(listener.fd.get());
    if (!connection) {
      // Out of descriptors: a retry at once would only spin.
      listener.watch.set_events(0);
      listener.resume = loop_.after(out_of_descriptors_pause,
                                    [&listener] { listener.watch.set_events(EPOLLIN); });
      return;
    }
    if (!*connection) return;
    add(*std::move(connection));
  }
}

void ProbeListener::add(Fd connection) {
  if (callers_.size() >= limits_.callers_max) drop(callers_.begin()->first);
  Caller fresh = {.connection = std::move(connection), .watch = {}, .deadline = {}};
  // The nonce is mostly here already: then the loop need not watch the connection.
  if (serve(fresh)) return;
  const uint64_t id = next_caller_++;
  Caller& caller = callers_.emplace(id, std::move(fresh)).first->second;
  auto watch = loop_.watch(caller.connection.get(), EPOLLIN, [this, id](uint32_t) {
    if (serve(callers_.at(id))) drop(id);
  });
  if (!watch) return drop(id);
  caller.watch = *std::move(watch);
  caller.deadline = loop_.after(limits_.patience, [this, id] { drop(id); });
}

bool ProbeListener::serve(Caller& caller) const {
  const std::span<std::byte> room = std::span(caller.nonce).subspan(caller.received);
  const int fd = caller.connection.get();
  const ssize_t n = ::recv(fd, room.data(), room.size(), 0);
  if (n <= 0) return n == 0 || !passes(errno);
  caller.received += static_cast<size_t>(n);
  if (caller.received < caller.nonce.size()) return false;
  const Digest proof = proof_of(key_, number_, caller.nonce);
  // If the caller is gone, nothing is lost.
  static_cast<void>(send_small(fd, proof));
  return true;
}

void ProbeListener::drop(uint64_t caller) {
  callers_.erase(caller);
}

/// waiting for the head start ─▶ connecting ─▶ nonce sent ─▶ over, and good if the proof is right
struct ProbeDialer::Call {
  size_t target = 0;
  Address address;
  Fd connection;
  Watch watch;
  Digest proof = {};
  size_t received = 0;  ///< of the proof
  bool waiting = false;
  size_t sent = 0;  ///< of the nonce
  bool good = false;
  bool over = false;
};

ProbeDialer::ProbeDialer(Loop& loop, const Token& token, Terms terms,
                         std::function<void(Reached)> on_done)
    : loop_(loop), targets_(std::move(terms.targets)), on_done_(std::move(on_done)) {
  const Hmac key(token.secret);
  const bool ready = random_bytes(nonce_).has_value();
  for (size_t target = 0; target < targets_.size(); ++target) {
    proofs_.push_back(proof_of(key, targets_[target].number, nonce_));
    for (const Address& address : targets_[target].addresses) {
      calls_.push_back(std::make_unique<Call>());
      calls_.back()->target = target;
      calls_.back()->address = address;
      calls_.back()->over = !ready;
    }
  }
  if (ready) start_all(terms.head_start);
  deadline_ = loop_.at(terms.deadline, [this] { finish(); });
  launcher_patience_ = loop_.after(launcher_patience, [this] { check_done(); });
  // Not from the constructor: the owner has no pointer to this object yet.
  last_moment_ = loop_.after(Duration::zero(), [this] { check_done(); });
}

ProbeDialer::~ProbeDialer() = default;

void ProbeDialer::start_all(Duration head_start) {
  std::vector<const Call*> firsts(targets_.size());
  for (const auto& call : calls_) {
    const Call*& first = firsts[call->target];
    call->waiting = head_start > Duration::zero() && first != nullptr;
    if (first == nullptr) first = call.get();
    if (!call->waiting) start(*call);
  }
  for (size_t target = 0; target < targets_.size(); ++target) {
    if (firsts[target] != nullptr && firsts[target]->over) start_rest(target);
  }
  if (head_start == Duration::zero()) return;
  head_start_ = loop_.after(head_start, [this] {
    for (size_t target = 0; target < targets_.size(); ++target)
      start_rest(target);
    check_done();
  });
}

void ProbeDialer::start(Call& call) {
  call.waiting = false;
  auto connection = start_connect(call.address);
  if (connection) {
    call.connection = *std::move(connection);
    // Within one machine the connection is complete at once.
    if (send_nonce(call)) {
      const bool sent = call.sent == nonce_.size();
      auto watch = loop_.watch(call.connection.get(), sent ? EPOLLIN : EPOLLOUT,
                               [this, &call](uint32_t) { ready(call); });
      if (watch) call.watch = *std::move(watch);
    }
  }
  if (!call.watch) close(call);
}

void ProbeDialer::start_rest(size_t target) {
  for (const auto& call : calls_) {
    if (call->target == target && call->waiting) start(*call);
  }
}

/// Returns false when the connection has failed.
bool ProbeDialer::send_nonce(Call& call) const {
  const ByteSpan rest = ByteSpan(nonce_).subspan(call.sent);
  const ssize_t n = ::send(call.connection.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (n > 0) call.sent += static_cast<size_t>(n);
  return n > 0 || (n < 0 && passes(errno));
}

void ProbeDialer::ready(Call& call) {
  if (call.sent == nonce_.size()) return receive_proof(call);
  if (!send_nonce(call)) return end(call);
  if (call.sent == nonce_.size()) call.watch.set_events(EPOLLIN);
}

void ProbeDialer::receive_proof(Call& call) {
  const std::span<std::byte> room = std::span(call.proof).subspan(call.received);
  const ssize_t n = ::recv(call.connection.get(), room.data(), room.size(), 0);
  if (n < 0 && passes(errno)) return;
  if (n <= 0) return end(call);
  call.received += static_cast<size_t>(n);
  const ByteSpan wanted = ByteSpan(proofs_[call.target]).first(call.received);
  // Checked before it is complete: a dialer that has reached itself gets its nonce and no more.
  const bool right = equal_in_constant_time(ByteSpan(call.proof).first(call.received), wanted);
  if (right && call.received < call.proof.size()) return;
  call.good = right;
  end(call);
}

bool ProbeDialer::reached(size_t target) const {
  return std::ranges::any_of(
      calls_, [target](const auto& call) { return call->target == target && call->good; });
}

void ProbeDialer::end(Call& call) {
  close(call);
  if (!call.good) start_rest(call.target);
  for (const auto& other : calls_) {
    if (other->target == call.target && other->waiting) close(*other);
  }
  check_done();
}

void ProbeDialer::close(Call& call) {
  call.over = true;
  call.waiting = false;
  call.watch = Watch();
  call.connection.reset();
}

void ProbeDialer::check_done() {
  if (done_) return;
  if (std::ranges::all_of(calls_, [](const auto& call) { return call->over; })) {
    finish();
    return;
  }
  for (size_t target = 0; target < targets_.size(); ++target) {
    const bool timed_out = targets_[target].number == launcher_number && !launcher_patience_;
    if (!reached(target) && !timed_out) return;
  }
  if (!hurrying_) last_moment_ = loop_.after(moment, [this] { finish(); });
  hurrying_ = true;
}

void ProbeDialer::finish() {
  if (std::exchange(done_, true)) return;
  Reached reached;
  for (const ProbeTarget& target : targets_)
    reached.push_back({.number = target.number, .addresses = {}});
  for (const auto& call : calls_) {
    // Closed now: another listener may use the port next.
    if (!call->over) close(*call);
    if (call->good) reached[call->target].addresses.push_back(call->address);
  }
  const auto on_done = std::move(on_done_);
  on_done(std::move(reached));
}

}  // namespace dt

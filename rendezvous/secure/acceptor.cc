#include "rendezvous/secure/acceptor.h"

#include "base/format.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

namespace dt {

namespace {

constexpr Duration between_warnings = seconds(1);

std::string peer_text(int fd, const std::string& from) {
  if (!from.empty()) return from;
  const Result<Address> peer = peer_address(fd);
  return peer ? peer->ip : "an address that is gone";
}

}  // namespace

Acceptor::Acceptor(Loop& loop, Options options, Log& log, OnProved on_proved)
    : loop_(loop),
      options_(std::move(options)),
      log_(log),
      on_proved_(std::move(on_proved)),
      deadlines_(loop_, options_.handshake_timeout, [this](uint64_t id) {
        reject(id, format("no handshake within {} ms",
                          duration_cast<milliseconds>(options_.handshake_timeout).count()));
      }) {
}

Result<std::unique_ptr<Acceptor>> Acceptor::listen(Loop& loop, Options options, Log& log,
                                                   OnProved on_proved) {
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(loop, std::move(options), log, std::move(on_proved)));
  Acceptor& self = *acceptor;
  self.listener_ = TRY(listen_on(self.options_.address));
  self.options_.address = TRY(local_address(self.listener_.get()));
  self.watch_ =
      TRY(loop.watch(self.listener_.get(), EPOLLIN, [&self](uint32_t) { self.accept_some(); }));
  return acceptor;
}

void Acceptor::set_claim(Claim claim, size_t pending_max) {
  options_.claim = std::move(claim);
  options_.pending_max = pending_max;
  while (!pending_.empty())
    take(pending_.begin()->first);
}

void Acceptor::accept_some() {
  for (int i = 0; i < accepts_per_round; ++i) {
    Result<Fd> connection = accept_one(listener_.get());
    if (!connection) {
      // Out of descriptors or memory: the connection stays in the backlog, and a retry at once
      // would only spin.
      warn(connection.error().message);
      watch_.set_events(0);
      resume_ = loop_.after(out_of_descriptors_pause, [this] { watch_.set_events(EPOLLIN); });
      return;
    }
    if (!*connection) return;
    add(*std::move(connection), {});
  }
}

void Acceptor::add(Fd connection, std::string from) {
  ++accepted_;
  make_room();
  tune_tcp(connection.get(), options_.dead_after);
  Result<Handshake> handshake = Handshake::accept(options_.claim);
  if (!handshake) {
    ++rejected_;
    warn(handshake.error().message);
    return;
  }
  const uint64_t id = next_id_++;
  Result<Watch> watch =
      loop_.watch(connection.get(), EPOLLIN, [this, id](uint32_t) { readable(id); });
  if (!watch) {
    ++rejected_;
    warn(watch.error().message);
    return;
  }
  pending_.emplace(id, Pending{std::move(connection), std::move(from), *std::move(handshake), true,
                               *std::move(watch)});
  deadlines_.start(id);
}

/// Closes the oldest connections beyond the limit. A task's handshake takes two round trips, so the
/// oldest is most likely a silent foreign one. Received bytes are no criterion: a foreign process
/// can send some, too.
void Acceptor::make_room() {
  while (pending_.size() >= options_.pending_max) {
    const size_t count = pending_.size();
    const Pending oldest = take(pending_.begin()->first);
    ++rejected_;
    warn(format("closed the oldest of {} unfinished handshakes, from {}", count,
                peer_text(oldest.connection.get(), oldest.from)));
  }
}

Acceptor::Pending Acceptor::take(uint64_t id) {
  const auto at = pending_.find(id);
  Pending taken = std::move(at->second);
  pending_.erase(at);
  taken.watch = Watch();
  deadlines_.end(id);
  return taken;
}

void Acceptor::readable(uint64_t id) {
  Pending& pending = pending_.at(id);
  Handshake& handshake = pending.handshake;
  const int fd = pending.connection.get();
  if (!send_unsent(pending)) return hung_up(id);
  while (handshake.wanted() > 0) {
    std::array<std::byte, handshake_bytes_max> buffer;
    assert(handshake.wanted() <= buffer.size());
    const ssize_t n = ::read(fd, buffer.data(), handshake.wanted());
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return hung_up(id);
    const ByteSpan received = ByteSpan(buffer).first(static_cast<size_t>(n));
    const bool first = std::exchange(pending.silent, false);
    if (first && options_.unauthenticated.take &&
        options_.unauthenticated.begin_with(received[0])) {
      return hand_over(id, received);
    }
    const Result<size_t> used = handshake.receive(received);
    if (!used) return reject(id, used.error().message);
    const Bytes output = handshake.take_output();
    pending.unsent.insert(pending.unsent.end(), output.begin(), output.end());
    if (!send_unsent(pending)) return hung_up(id);
  }
  if (!pending.unsent.empty()) return;  // until the socket takes it
  Pending proved = take(id);
  on_proved_(std::move(proved.connection), std::move(proved.handshake));
}

void Acceptor::hand_over(uint64_t id, ByteSpan begun) {
  Pending pending = take(id);
  const Result<> taken =
      options_.unauthenticated.take(std::move(pending.connection), begun, pending.from);
  if (!taken) {
    ++rejected_;
    warn(taken.error().message);
  }
}

bool Acceptor::send_unsent(Pending& pending) {
  if (pending.unsent.empty()) return true;
  while (!pending.unsent.empty()) {
    const ssize_t n = ::send(pending.connection.get(), pending.unsent.data(), pending.unsent.size(),
                             MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return false;
    if (n < 0) break;
    pending.unsent.erase(pending.unsent.begin(), pending.unsent.begin() + n);
  }
  pending.watch.set_events(pending.unsent.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  return true;
}

/// A task that ends, or a check whether the port is open, is no failed authentication. A dialer
/// that rejects our proof sends a wrong one before it hangs up.
void Acceptor::hung_up(uint64_t id) {
  const Pending pending = take(id);
  ++rejected_;
  log_.info("{}: {} hung up during the handshake", options_.name,
            peer_text(pending.connection.get(), pending.from));
}

void Acceptor::reject(uint64_t id, const std::string& why) {
  const Pending pending = take(id);
  ++rejected_;
  // A connection without a byte is no failed authentication.
  if (!pending.silent) {
    warn(format("authentication failed from {}: {}",
                peer_text(pending.connection.get(), pending.from), why));
  }
}

void Acceptor::warn(std::string text) {
  if (quiet_) {
    ++suppressed_;
    suppressed_text_ = std::move(text);
    return;
  }
  log_.warn("{}: {}", options_.name, text);
  quiet_ = loop_.after(between_warnings, [this] {
    quiet_ = Timer();
    const uint64_t count = std::exchange(suppressed_, 0);
    if (count == 1) warn(std::move(suppressed_text_));
    if (count > 1) warn(format("{} ({} like this in a second)", suppressed_text_, count));
  });
}

}  // namespace dt

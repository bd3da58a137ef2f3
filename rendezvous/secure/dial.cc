#include "rendezvous/secure/dial.h"

#include "base/io/network.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace dt {

namespace {

constexpr Duration first_pause = milliseconds(10);
constexpr Duration longest_pause = milliseconds(500);

/// True for the failure to connect to a loopback address while no such interface is up.
bool loopback_is_down(const Address& address, const std::string& failure) {
  const bool unreachable =
      failure.ends_with(errno_text(ENETUNREACH)) || failure.ends_with(errno_text(EADDRNOTAVAIL));
  return unreachable && is_loopback(address.ip) &&
         std::ranges::none_of(interface_addresses(), &is_loopback, &InterfaceAddress::ip);
}

/// Connects once. Errc::unreachable and Errc::closed may be temporary; other errors are final.
Result<Fd> connect_once(const Address& address, Deadline& deadline) {
  Result<Fd> started = start_connect(address);
  // Loopback refuses at once.
  if (!started && started.error().code == Errc::os) {
    if (loopback_is_down(address, started.error().message)) {
      return fail(Errc::os, started.error().message +
                                ", since the interface lo is down; try: ip link set lo up");
    }
    return fail(Errc::unreachable, std::move(started).error().message);
  }
  Fd fd = TRY(std::move(started));
  if (!TRY(await_readiness(fd.get(), POLLOUT, deadline))) {
    return fail(Errc::timeout, "no answer to the connection attempt");
  }
  if (Result<> connected = connect_result(fd.get(), address); !connected) {
    return fail(Errc::unreachable, std::move(connected).error().message);
  }
  return fd;
}

Result<> send_all(int fd, ByteSpan bytes, Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) {
      if (TRY(await_readiness(fd, POLLOUT, deadline))) continue;
      return fail(Errc::timeout, "the handshake could not be sent in time");
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(Errc::closed, errno_text(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<> shake_hands(int fd, Handshake& handshake, Deadline& deadline) {
  while (!handshake.done()) {
    TRY(send_all(fd, handshake.take_output(), deadline));
    std::array<std::byte, 2 * handshake_bytes_max> buffer;
    const ssize_t n = ::read(fd, buffer.data(), std::min(handshake.wanted(), buffer.size()));
    if (n > 0) {
      const Result<size_t> used = handshake.receive(ByteSpan(buffer).first(static_cast<size_t>(n)));
      if (used) continue;
      (void)send_all(fd, handshake.take_output(), deadline);
      return tl::unexpected(used.error());
    } else if (n == 0) {
      return fail(Errc::closed, "it hung up during the handshake");
    } else if (errno == EAGAIN) {
      if (TRY(await_readiness(fd, POLLIN, deadline))) continue;
      return fail(Errc::timeout, "the handshake was not answered in time");
    } else if (errno != EINTR) {
      return fail(Errc::closed, errno_text(errno));
    }
  }
  return {};
}

Result<Dialed> dial_once(const Address& address, const Claim& claim, const TaskId& peer,
                         Deadline& deadline) {
  Fd fd = TRY(connect_once(address, deadline));
  Handshake handshake = TRY(Handshake::dial(claim, peer));
  TRY(shake_hands(fd.get(), handshake, deadline));
  return Dialed{std::move(fd), handshake.session()};
}

}  // namespace

Result<bool> await_readiness(int fd, short events, Deadline& deadline) {
  while (true) {
    const bool last = deadline.passed();
    pollfd polled{.fd = fd, .events = events, .revents = 0};
    const int n = ::poll(&polled, 1, last ? 0 : poll_ms(Clock::now(), deadline.wake_up_at()));
    if (n < 0 && errno != EINTR) return fail_errno("cannot wait for a connection");
    if (n > 0) return true;
    if (n == 0 && last) return false;
  }
}

Result<Dialed> dial(const Address& address, const Claim& claim, const TaskId& peer,
                    Duration dead_after, Deadline& deadline) {
  for (Duration pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    Result<Dialed> dialed = dial_once(address, claim, peer, deadline);
    if (dialed) {
      tune_tcp(dialed->connection.get(), dead_after);
      return dialed;
    }
    const Errc code = dialed.error().code;
    const bool may_pass = code == Errc::unreachable || code == Errc::closed;
    if (!may_pass || deadline.passed() || Clock::now() + pause >= deadline.to_monotonic())
      return dialed;
    // A pure pause: no event announces that the listener is ready.
    ::poll(nullptr, 0, poll_ms(Time(), Time() + pause));
  }
}

}  // namespace dt

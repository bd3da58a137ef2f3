#include "comm/transport/tcp_socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace dt {

namespace {

/// The shortest round trip of a connection that is within a host or a cluster.
constexpr Duration short_round_trip = milliseconds(1);

/// Returns nothing before the kernel has measured one.
std::optional<Duration> shortest_round_trip(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  constexpr uint32_t unmeasured = ~uint32_t{0};
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return {};
  if (info.tcpi_min_rtt == 0 || info.tcpi_min_rtt == unmeasured) return {};
  return std::chrono::microseconds(info.tcpi_min_rtt);
}

/// Replaces the algorithm that tune_link() has chosen, which knows no round trip.
void choose_by_round_trip(int fd) {
  const std::optional<Duration> measured = shortest_round_trip(fd);
  if (!measured) return;
  const std::string_view name = congestion_control_for(*measured);
  // The result is ignored: reno is part of each kernel, and without cubic, the host's own stays.
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size()));
}

}  // namespace

std::string_view congestion_control_for(Duration round_trip) {
  return round_trip < short_round_trip ? "reno" : "cubic";
}

TcpSocket::TcpSocket(Fd fd, std::optional<Session> session)
    : state_(State::open),
      fd_(std::move(fd)),
      session_(std::move(session)),
      readable_(true),
      writable_(true) {
  choose_by_round_trip(fd_.get());
}

TcpSocket::TcpSocket(std::function<void()> ask)
    : state_(State::unused), ask_(std::move(ask)), readable_(false), writable_(false) {
}

void TcpSocket::connect() {
  State expected = State::unused;
  if (state() == State::unused && state_.compare_exchange_strong(expected, State::asked)) ask_();
}

Result<bool> TcpSocket::connected() const {
  switch (state()) {
    case State::open:
      return true;
    case State::failed:
      return tl::unexpected(*error_);
    case State::closed:
      return dt::fail(Errc::closed, "the link was closed");
    default:
      return false;
  }
}

/// Only the mesh calls this, so a state that is `opening` has no other writer. Returns false when
/// the socket was opened, or when the link has closed it.
bool TcpSocket::leave_unopened(State to) {
  State now = state();
  while (now == State::unused || now == State::asked)
    if (state_.compare_exchange_weak(now, to)) return true;
  return false;
}

bool TcpSocket::open(Fd fd, Session session) {
  if (!leave_unopened(State::opening)) return false;
  fd_ = std::move(fd);
  choose_by_round_trip(fd_.get());
  session_ = std::move(session);
  State expected = State::opening;
  if (!state_.compare_exchange_strong(expected, State::open)) {
    fd_.reset();
    return false;
  }
  report({.readable = true, .writable = true});
  return true;
}

void TcpSocket::fail(Error why) {
  if (!leave_unopened(State::opening)) return;
  error_ = std::move(why);
  State expected = State::opening;
  if (!state_.compare_exchange_strong(expected, State::failed)) return;
  report({.readable = true, .writable = true, .ended = true});
}

void TcpSocket::close() {
  State now = state();
  while (now != State::open && !state_.compare_exchange_weak(now, State::closed)) {
  }
  if (now == State::open) ::shutdown(fd_.get(), SHUT_RDWR);
  report({.readable = true, .writable = true, .ended = true});
}

void TcpSocket::report(Events events) {
  // The end comes first: a link that clears the readable flag must not miss it.
  if (events.ended) ended_.store(true);
  if (events.writable) writable_.store(true);
  if (!events.readable && !events.ended) return;
  readable_.store(true);
  if (arrivals_) arrivals_->add(index_);
}

void TcpSocket::report_to(std::shared_ptr<ReadySet> arrivals, size_t index) {
  arrivals_ = std::move(arrivals);
  index_ = index;
  if (readable()) arrivals_->add(index_);
}

}  // namespace dt

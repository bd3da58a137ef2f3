#include "comm/transport/tcp_link.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

constexpr size_t read_ahead_bytes = size_t{8} << 10;
constexpr size_t parts_max = 64;
/// Copying so many bytes costs less than a list of parts does in the kernel.
constexpr size_t small_bytes_max = size_t{1} << 10;

// One kernel ends the connections of its processes with them, so probes would find nothing. The
// probes of some hundred ranks overflow its queue of packets; lost ones look like a dead peer.
constexpr Duration dead_after_on_one_host = std::chrono::hours(24);

/// The kernel's keepalive ends a silent connection without bytes under way. Its error is the
/// network's last complaint, if there was one.
tl::unexpected<Error> broken_by(int fd, int number) {
  const bool silent = number == ETIMEDOUT || number == EHOSTUNREACH || number == ENETUNREACH;
  const Result<TcpProgress> progress = progress_of(fd);
  if (silent && progress) return no_answer(*progress);
  return fail(Errc::closed, errno_text(number));
}

ssize_t send_small(int fd, std::span<const ByteSpan> parts) {
  std::array<std::byte, small_bytes_max> bytes;
  size_t total = 0;
  for (const ByteSpan part : parts) {
    if (!part.empty()) std::memcpy(bytes.data() + total, part.data(), part.size());
    total += part.size();
  }
  return ::send(fd, bytes.data(), total, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Sends the first parts_max parts.
ssize_t send_list(int fd, std::span<const ByteSpan> parts) {
  std::array<iovec, parts_max> pieces;
  msghdr message = {};
  message.msg_iov = pieces.data();
  // sendmsg(2) only reads, but its type has no const.
  for (const ByteSpan part : parts.first(std::min(parts.size(), parts_max)))
    pieces[message.msg_iovlen++] = {const_cast<std::byte*>(part.data()), part.size()};
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t receive_two(int fd, std::span<std::byte> first, std::span<std::byte> second) {
  std::array<iovec, 2> pieces = {{{first.data(), first.size()}, {second.data(), second.size()}}};
  msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  return ::recvmsg(fd, &message, MSG_DONTWAIT);
}

}  // namespace

void tune_link(int fd, bool same_host, Duration dead_after) {
  tune_tcp_of_worker(fd, same_host ? dead_after_on_one_host : dead_after);
  choose_congestion_control(fd);
}

Result<TcpProgress> progress_of(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0) return fail_errno("TCP_INFO");
  return TcpProgress{
      .unacknowledged = info.tcpi_unacked,
      .unsent_bytes = info.tcpi_notsent_bytes,
      .retransmissions = info.tcpi_retransmits,
      .probes = info.tcpi_probes,
      .since_answer = milliseconds(std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv))};
}

tl::unexpected<Error> no_answer(const TcpProgress& progress) {
  return fail(Errc::timeout,
              format("no answer for {} s", duration_cast<seconds>(progress.since_answer).count()));
}

TcpLink::TcpLink(std::shared_ptr<TcpSocket> socket) : socket_(std::move(socket)) {
}

Result<size_t> TcpLink::send_parts(std::span<const ByteSpan> parts) {
  size_t total = 0;
  for (const ByteSpan part : parts)
    total += part.size();
  if (total == 0 || !socket_->take_writable()) return size_t{0};
  if (socket_->get() < 0) return not_open();
  while (true) {
    const ssize_t n = total <= small_bytes_max ? send_small(socket_->get(), parts)
                                               : send_list(socket_->get(), parts);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return size_t{0};
    // Only EAGAIN makes the kernel report room: a signal may cut a call short as well.
    socket_->stay_writable();
    if (n < 0) return broken_by(socket_->get(), errno);
    return static_cast<size_t>(n);
  }
}

Result<size_t> TcpLink::receive(std::span<std::byte> into) {
  if (into.empty()) return size_t{0};
  if (const size_t n = take_buffered(into); n > 0) return n;
  if (!socket_->take_readable()) return size_t{0};
  if (socket_->get() < 0) return not_open();
  return read(into);
}

/// Returns 0 for a link that connects later.
Result<size_t> TcpLink::not_open() const {
  TRY(socket_->connected());
  return size_t{0};
}

/// Reads into `into`, and what follows into the buffer, which is empty.
Result<size_t> TcpLink::read(std::span<std::byte> into) {
  buffer_.resize(read_ahead_bytes);
  // A header goes through the buffer: recv(2) takes less time than recvmsg(2) with two parts, also
  // when nothing has arrived.
  const bool small = into.size() <= small_bytes_max;
  while (true) {
    const ssize_t n = small ? ::recv(socket_->get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT)
                            : receive_two(socket_->get(), into, buffer_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return size_t{0};
    const size_t got = n < 0 ? 0 : static_cast<size_t>(n);
    // Only EAGAIN makes the kernel report new bytes: a signal may cut a read short as well.
    socket_->stay_readable();
    if (n < 0) return broken_by(socket_->get(), errno);
    if (n == 0) return fail(Errc::closed, "the connection was closed");
    begin_ = 0;
    end_ = small ? got : got - std::min(got, into.size());
    return small ? take_buffered(into) : std::min(got, into.size());
  }
}

Result<bool> TcpLink::check_answers(Duration silence_max) {
  const TcpProgress progress = TRY(progress_of(socket_->get()));
  switch (silence_.judge(progress, silence_max)) {
    case TcpSilence::Verdict::idle:
      return false;
    case TcpSilence::Verdict::waiting:
      return true;
    case TcpSilence::Verdict::silent:
      break;
  }
  return no_answer(progress);
}

void TcpLink::close() {
  socket_->close();
}

bool TcpLink::report_arrivals(const std::shared_ptr<ReadySet>& arrivals, size_t index) {
  socket_->report_to(arrivals, index);
  return true;
}

bool TcpLink::may_receive() const {
  return begin_ < end_ || socket_->readable();
}

/// Room for bytes that wait to be sent is only reported, and so are a new connection and its end.
bool TcpLink::poll() {
  if (socket_->get() < 0 || !socket_->writable()) return false;
  socket_->report({.readable = true});
  return true;
}

size_t TcpLink::take_buffered(std::span<std::byte> into) {
  const size_t n = std::min(into.size(), end_ - begin_);
  if (n > 0) std::memcpy(into.data(), buffer_.data() + begin_, n);
  begin_ += n;
  return n;
}

}  // namespace dt

#include "comm/transport/tcp_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dt {

namespace {

constexpr size_t read_ahead_bytes = size_t{4} << 10;
constexpr size_t parts_max = 64;

/// recv(2) without waiting. Returns 0 when nothing is there; fails with Errc::closed at the end.
Result<size_t> receive_now(int fd, std::span<std::byte> into) {
  while (true) {
    const ssize_t n = ::recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0) return fail(Errc::closed, "the connection was closed");
    if (errno == EAGAIN) return size_t{0};
    if (errno != EINTR) return fail(Errc::closed, errno_text(errno));
  }
}

}  // namespace

TcpLink::TcpLink(std::shared_ptr<const Fd> socket) : socket_(std::move(socket)) {
}

Result<size_t> TcpLink::send_parts(std::span<const ByteSpan> parts) {
  std::array<iovec, parts_max> pieces;
  size_t count = 0;
  size_t total = 0;
  for (const ByteSpan part : parts.first(std::min(parts.size(), parts_max))) {
    // sendmsg(2) only reads, but its type has no const.
    pieces[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    total += part.size();
  }
  if (total == 0) return size_t{0};
  msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  while (true) {
    const ssize_t n = ::sendmsg(socket_->get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno == EAGAIN) return size_t{0};
    if (errno != EINTR) return fail(Errc::closed, errno_text(errno));
  }
}

Result<size_t> TcpLink::receive(std::span<std::byte> into) {
  if (into.empty()) return size_t{0};
  if (const size_t n = take_buffered(into); n > 0) return n;
  if (into.size() >= read_ahead_bytes) return receive_now(socket_->get(), into);
  used_ = 0;
  buffer_.resize(read_ahead_bytes);
  Result<size_t> got = receive_now(socket_->get(), buffer_);
  buffer_.resize(got.value_or(0));
  if (!got) return got;
  return take_buffered(into);
}

void TcpLink::close() {
  ::shutdown(socket_->get(), SHUT_RDWR);
}

size_t TcpLink::take_buffered(std::span<std::byte> into) {
  const size_t n = std::min(into.size(), buffer_.size() - used_);
  if (n > 0) std::memcpy(into.data(), buffer_.data() + used_, n);
  used_ += n;
  return n;
}

}  // namespace dt

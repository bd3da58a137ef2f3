#include "launcher/network/small_send.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

namespace {

/// Far more than signals interrupt in a row.
constexpr int attempts_max = 100;

}  // namespace

Result<> send_small(int fd, ByteSpan bytes) {
  for (int attempt = 0; attempt < attempts_max && !bytes.empty(); ++attempt) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes = bytes.subspan(static_cast<size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("the connection broke");
  }
  if (bytes.empty()) return {};
  return fail(Errc::closed, "the connection is stuck");
}

Result<size_t> read_ready(int fd, std::span<std::byte> buffer) {
  const ssize_t n = ::read(fd, buffer.data(), buffer.size());
  if (n > 0) return static_cast<size_t>(n);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return size_t{0};
  return n < 0 ? fail_errno("the connection broke") : fail(Errc::closed, "it hung up");
}

}  // namespace dt

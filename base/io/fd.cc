#include "base/io/fd.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace dt {

void Fd::reset(int fd) {
  // close(2) on Linux frees the descriptor even when it returns EINTR. A retry could close another
  // thread's new descriptor.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<Pipe> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) < 0) return fail_errno("cannot make a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

Result<SocketPair> make_socketpair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
    return fail_errno("cannot make a socket pair");
  }
  return SocketPair{Fd(fds[0]), Fd(fds[1])};
}

Result<> set_nonblocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return fail_errno("cannot make a descriptor non-blocking");
  }
  return {};
}

Result<Fd> duplicate(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return fail_errno("cannot duplicate a descriptor");
  return Fd(copy);
}

Result<> write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write");
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

Result<> read_all_at(int fd, uint64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read");
    if (n == 0) return fail(Errc::input, "it has become shorter");
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return {};
}

}  // namespace dt

#pragma once

#include "base/result.h"

#include <cstddef>
#include <span>
#include <utility>

namespace dt {

/// Owns a file descriptor. The only type in the tree that calls close(2).
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

struct SocketPair {
  Fd ours;
  Fd theirs;
};

/// Both ends are close-on-exec and blocking.
Result<Pipe> make_pipe();
/// A close-on-exec Unix stream pair, blocking.
Result<SocketPair> make_socketpair();
Result<> set_nonblocking(int fd);
/// Returns another descriptor, close-on-exec, for the same open file.
Result<Fd> duplicate(int fd);
/// Writes all bytes to a blocking descriptor; retries on EINTR.
Result<> write_all(int fd, std::span<const std::byte> bytes);
/// Fills `bytes` from a file's offset on; retries on EINTR. Fails with Errc::input where the file
/// ends.
Result<> read_all_at(int fd, uint64_t offset, std::span<std::byte> bytes);

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dt {

/// True if a pipe or socket has bytes waiting, or a regular file is not at its end.
bool has_unread(int fd);

/// Reads dtrain's standard input for the tasks that want it, as fast as the slowest of them
/// consumes it. Reads a terminal only while dtrain is in its foreground. A read never blocks, not
/// even when another process with the same input has taken the bytes.
class InputReader {
 public:
  struct Handlers {
    std::function<void(ByteSpan)> on_bytes;
    std::function<void()> on_end;
  };
  static Result<std::unique_ptr<InputReader>> open(Loop& loop, int fd, size_t readers,
                                                   Handlers handlers);
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  /// Adds to the credit of a reader: it has consumed so many bytes more.
  void taken(size_t reader, uint32_t bytes);
  /// Removes a reader that has ended; reading no longer waits for it.
  void reader_ended(size_t reader);

 private:
  InputReader(Loop& loop, int fd, size_t readers, Handlers handlers);
  void wait();
  void read_some();
  uint32_t room() const;
  /// Chooses how to read without blocking.
  void choose_kind();
  ssize_t read_now(std::span<std::byte> buffer) const;
  int source() const { return own_ ? own_.get() : fd_; }

  Loop& loop_;
  int fd_;
  Fd own_;  ///< the same pipe or terminal, non-blocking for us alone; empty: reads fd_
  bool socket_ = false;
  Handlers handlers_;
  std::vector<uint32_t> credits_;
  bool ended_ = false;
  bool always_ready_ = false;  ///< a regular file, which epoll refuses
  Watch watch_;
  Timer timer_;
};

}  // namespace dt

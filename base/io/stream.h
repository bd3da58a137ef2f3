#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <optional>

namespace dt {

/// A connection on a Loop: one descriptor for both ways, or one for each, with a buffer in front of
/// each direction. Passive: it owns its descriptors and tells its handlers what happened; from the
/// Loop only, never within a call of ours. A program with pipes must ignore SIGPIPE; sockets need
/// no such care.
class Stream {
 public:
  struct Handlers {
    /// New bytes are at the end of `received`; returns how many at its front are used up. Not
    /// called again for the rest until more arrives. May destroy the Stream.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// The connection is over: end of file (no error) or why. Called once; may destroy the Stream.
    std::function<void(std::optional<Error> why)> on_end;
    /// All that was written since the last call has left. May be empty; may destroy the Stream.
    std::function<void()> on_drained;
  };

  /// Takes over non-blocking descriptors; `out` empty means `in` serves both ways.
  static Result<std::unique_ptr<Stream>> open(Loop& loop, Fd in, Fd out, Handlers handlers);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Queues bytes and sends what goes at once. Failures come later, by on_end.
  void write(ByteSpan bytes);
  /// Bytes queued and not yet taken by the kernel; callers that produce without limit must watch
  /// it.
  size_t unsent() const { return out_.size() - sent_; }
  /// Bytes received and not yet used up.
  size_t unread() const { return in_.size(); }
  /// Stops and restarts reading (back-pressure).
  void pause();
  void resume();
  /// Ends our direction once all is sent; the other side then sees end of file. Nothing more can be
  /// written; reading goes on.
  void close_after_sending();
  int fd() const { return in_fd_.get(); }

 private:
  Stream(Loop& loop, Fd in, Fd out, Handlers handlers);
  void ready(uint32_t events);
  void out_ready(uint32_t events);
  void readable();
  void writable();
  size_t send_some(ByteSpan bytes);
  void finish_writing();
  void fail_writing(int error);
  void read_rest();
  void tell_drained();
  void update();
  void end(std::optional<Error> why);
  int out_fd() const { return out_fd_ ? out_fd_.get() : in_fd_.get(); }

  Loop& loop_;
  Fd in_fd_;
  Fd out_fd_;
  /// Shared with the one handler that runs: when nobody else owns it then, it has destroyed us.
  std::shared_ptr<Handlers> handlers_;
  Watch in_watch_;
  Watch out_watch_;
  Timer read_rest_;
  Timer telling_drained_;
  Bytes in_;
  Bytes out_;
  size_t sent_ = 0;  ///< bytes at the front of out_ that have left
  bool paused_ = false;
  bool closing_ = false;       ///< nothing more is taken for writing
  bool drained_owed_ = false;  ///< something was written since the last on_drained
  bool ended_ = false;
  std::optional<Error> write_error_;
};

}  // namespace dt

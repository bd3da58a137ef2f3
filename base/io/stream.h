#pragma once

#include "base/bytes.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <functional>
#include <memory>
#include <optional>

namespace dt {

/// A connection on a Loop: one descriptor for both directions, or one for each, with a buffer for
/// each direction. It owns its descriptors and calls its handlers; only from the Loop, never within
/// a call of its functions. A program with pipes must ignore SIGPIPE; sockets do not need that.
class Stream {
 public:
  struct Handlers {
    /// Called when bytes have arrived, which are at the end of `received`. Returns how many bytes
    /// at its front it has consumed. The rest is passed again only when more bytes arrive. May
    /// destroy the Stream.
    std::function<size_t(ByteSpan received)> on_bytes;
    /// Called once when the connection ends: by end of file (no error) or an error. May destroy the
    /// Stream. Where writing has failed, the bytes that the other side has sent still arrive first.
    /// The end is its end of file then, or a second of silence.
    std::function<void(std::optional<Error> why)> on_end;
    /// Called when all bytes written since the last call have been sent. May be empty. May destroy
    /// the Stream.
    std::function<void()> on_drained;
  };

  /// Takes ownership of non-blocking descriptors. If `out` is empty, `in` is for both directions.
  static Result<std::unique_ptr<Stream>> open(Loop& loop, Fd in, Fd out, Handlers handlers);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Queues bytes and sends as many as possible at once. Failures are reported later, by on_end.
  void write(ByteSpan bytes);
  /// The number of queued bytes. A caller that writes without limit must check it.
  size_t unsent() const { return out_.size() - sent_; }
  /// The number of received bytes that on_bytes has not consumed.
  size_t unread() const { return in_.size(); }
  /// Stops and restarts reading (back-pressure).
  void pause();
  void resume();
  /// Ends our direction once all bytes are sent: the other side then sees end of file. Requires
  /// that no more bytes are written. Reading continues.
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
  void await_last_words();
  void report_drained();
  void update();
  void end(std::optional<Error> why);
  int out_fd() const { return out_fd_ ? out_fd_.get() : in_fd_.get(); }

  Loop& loop_;
  Fd in_fd_;
  Fd out_fd_;
  /// Shared with the running handler. If that is the only owner afterwards, the handler has
  /// destroyed this Stream.
  std::shared_ptr<Handlers> handlers_;
  Watch in_watch_;
  Watch out_watch_;
  Timer last_words_;
  Timer reporting_drained_;
  Bytes in_;
  Bytes out_;
  size_t sent_ = 0;  ///< bytes at the front of out_ that were sent
  bool paused_ = false;
  bool closing_ = false;       ///< no more bytes may be written
  bool drained_owed_ = false;  ///< bytes were written since the last on_drained
  bool ended_ = false;
  std::optional<Error> write_error_;
};

}  // namespace dt

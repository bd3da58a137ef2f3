#pragma once

#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/result.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dt {

/// Writes text to one of dtrain's own standard streams without ever blocking the loop. Other
/// programs (the shell, a pager) share the descriptor, so a Sink does not make it non-blocking. It
/// opens pipes and terminals a second time instead.
class Sink {
 public:
  /// A part of a line: its writer, and whether the line is unfinished behind it.
  struct Part {
    const void* writer = nullptr;
    bool unfinished = false;
  };
  /// `on_broken` is called once: with Errc::closed when the reader has gone, with Errc::os when a
  /// write fails. Later text is dropped.
  static Result<std::unique_ptr<Sink>> open(Loop& loop, int fd,
                                            std::function<void(Error)> on_broken);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Queues text of whole lines. `on_written` (may be empty) is called when the kernel has all of
  /// it, or when it is dropped.
  void write(std::string text, std::function<void()> on_written);
  /// The same for text that ends within a line of `writer`, or continues it. Text of all others
  /// begins a new line then.
  void write_part(std::string text, std::function<void()> on_written, Part part);
  /// The writer of the unfinished line at the end of all text; null: the last line is whole.
  const void* line_writer() const { return line_writer_; }
  /// The terminal has ended the unfinished line: the user has typed Enter there.
  void line_ended() { line_writer_ = nullptr; }
  /// Sets a hook that is called before each text is queued. It may be empty, and may write itself.
  void before_text(std::function<void()> hook) { before_text_ = std::move(hook); }
  /// Drops the callbacks of queued text, since their owners end; the text is still written.
  void forget_writers();
  bool drained() const { return queue_.empty(); }
  bool terminal() const { return terminal_; }
  /// True once text is dropped: the reader has gone, or a write failed.
  bool is_broken() const { return is_broken_; }

 private:
  enum class Kind {
    file,    ///< a file or device that is written directly
    own,     ///< a pipe or terminal, opened a second time without blocking
    socket,  ///< written by send(2) without blocking
    shared,  ///< a pipe or terminal that could not be opened again
  };
  struct Piece {
    std::string text;
    std::function<void()> on_written;
  };
  Sink(Loop& loop, int fd, std::function<void(Error)> on_broken)
      : loop_(loop), fd_(fd), on_broken_(std::move(on_broken)) {}
  void flush();
  ssize_t write_some(std::string_view text);
  void wait_for_room();
  void broken(int number);

  Loop& loop_;
  int fd_;
  Fd own_;
  Kind kind_ = Kind::file;
  bool terminal_ = false;
  bool is_broken_ = false;
  bool flushing_ = false;
  std::function<void(Error)> on_broken_;
  std::function<void()> before_text_;
  const void* line_writer_ = nullptr;
  std::deque<Piece> queue_;
  size_t offset_ = 0;
  Watch watch_;
};

}  // namespace dt

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

/// One of dtrain's own standard streams as a place for text, written without ever blocking the
/// loop. The descriptor is shared with other programs (the shell, a pager), so it is not made
/// non-blocking itself: pipes and terminals are opened a second time.
class Sink {
 public:
  /// `on_broken` is called once when nobody reads any more; from then on text is dropped.
  static Result<std::unique_ptr<Sink>> open(Loop& loop, int fd,
                                            std::function<void(Error)> on_broken);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Queues text; `on_written` (may be empty) is called when the kernel has all of it, or it was
  /// dropped.
  void write(std::string text, std::function<void()> on_written);
  /// `hook` (may be empty) is called before each text is queued, and may write itself.
  void before_text(std::function<void()> hook) { before_text_ = std::move(hook); }
  /// What is queued still leaves, but nobody is told any more: the writers are gone.
  void forget_writers();
  bool drained() const { return queue_.empty(); }
  bool terminal() const { return terminal_; }
  /// Nobody reads any more; text is dropped.
  bool is_broken() const { return is_broken_; }

 private:
  enum class Kind { file, own, socket, shared };
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
  std::deque<Piece> queue_;
  size_t offset_ = 0;
  Watch watch_;
};

/// dtrain's two standard streams. Where both are one pipe, terminal or file they share a Sink: of
/// two, each would continue its own unfinished text within the other's lines.
class Console {
 public:
  struct Descriptors {
    int out;
    int err;
  };
  Console() = default;
  /// `on_out_broken` is called when only standard output has lost its reader.
  static Result<Console> open(Loop& loop, Descriptors descriptors,
                              std::function<void(Error)> on_out_broken);

  Sink& out() { return out_ ? *out_ : *err_; }
  Sink& err() { return *err_; }
  bool drained() const { return err_->drained() && (!out_ || out_->drained()); }
  /// As Sink::forget_writers.
  void forget_writers();

 private:
  std::unique_ptr<Sink> err_;
  std::unique_ptr<Sink> out_;  ///< null: err_ serves for both
};

}  // namespace dt

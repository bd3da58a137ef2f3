#pragma once

#include "base/io/loop.h"
#include "base/result.h"
#include "launcher/console/sink.h"

#include <functional>
#include <memory>

namespace dt {

/// dtrain's two output streams. If both are the same pipe, terminal or file, they share a Sink. Two
/// Sinks would each continue their own unfinished text within the other's lines.
class Console {
 public:
  struct Descriptors {
    int out;
    int err;
  };
  Console() = default;
  /// `on_out_broken` is called when standard output has lost its reader or cannot be written.
  static Result<Console> open(Loop& loop, Descriptors descriptors,
                              std::function<void(Error)> on_out_broken);

  Sink& out() { return out_ ? *out_ : *err_; }
  Sink& err() { return *err_; }
  bool drained() const { return err_->drained() && (!out_ || out_->drained()); }
  /// As Sink::forget_writers.
  void forget_writers();

 private:
  std::unique_ptr<Sink> err_;
  std::unique_ptr<Sink> out_;  ///< null: err_ serves both
};

}  // namespace dt

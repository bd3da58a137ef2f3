#pragma once

#include "base/io/loop.h"
#include "launcher/process/child.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// Runs a program, and receives the beginning of what it prints on stdout and stderr.
class ProgramQuery {
 public:
  struct Answer {
    std::string output;  ///< at most output_bytes_max
    bool late = false;   ///< the program was killed, because the patience ran out
  };
  using Done = std::function<void(const Answer&)>;
  static constexpr size_t output_bytes_max = size_t{32} << 10;

  /// Sets the request's output and error. `on_done` is called once, when the program has ended; not
  /// after the destruction. A process that the program leaves behind is not waited for, even if it
  /// holds the output open.
  static Result<std::unique_ptr<ProgramQuery>> start(Loop& loop, ChildRequest request,
                                                     Duration patience, Done on_done);
  ProgramQuery(const ProgramQuery&) = delete;
  ProgramQuery& operator=(const ProgramQuery&) = delete;

  /// Only this object may reap the process.
  pid_t pid() const { return child_.pid(); }

 private:
  ProgramQuery(Child child, Fd output, Done on_done)
      : child_(std::move(child)), output_(std::move(output)), on_done_(std::move(on_done)) {}
  void ended();

  Child child_;
  Fd output_;
  Done on_done_;
  bool late_ = false;
  Watch watch_;
  Timer timer_;
};

}  // namespace dt

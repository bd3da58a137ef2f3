#pragma once

#include "base/clock.h"
#include "base/environment.h"
#include "base/result.h"
#include "launcher/process/child.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dt {

/// A program's end, and what it printed.
struct ProgramEnd {
  ExitStatus status;
  std::string output;
  std::string messages;  ///< the first messages_bytes_max bytes of its stderr
  static constexpr size_t messages_bytes_max = size_t{8} << 10;
};

/// A program that runs beside this process, which waits for its end without an event loop.
class ProgramRun {
 public:
  struct Request {
    std::vector<std::string> command;  ///< its first word is looked up in PATH
    Environment environment;
    std::string folder;
    size_t output_bytes_max = 0;
    Duration patience{};
    /// It joins the process group of this process, so that one signal ends both, with the programs
    /// that it starts. Requires a process without a terminal.
    bool joins_group = false;
  };
  /// Fails with Errc::not_found or Errc::not_runnable when there is no such program.
  static Result<ProgramRun> start(Request request);
  ProgramRun(ProgramRun&&) = default;
  ProgramRun& operator=(ProgramRun&&) = delete;
  /// Kills a program that finish() has not waited for.
  ~ProgramRun();

  /// Waits for the end of the program, and returns what it has printed. Fails with Errc::timeout
  /// when the patience runs out, and with Errc::input when it prints more than the limit; it is
  /// killed then.
  Result<ProgramEnd> finish();

 private:
  ProgramRun(Child child, Request request)
      : child_(std::move(child)), request_(std::move(request)) {}
  Result<> read_output(ProgramEnd& end);

  Child child_;
  Request request_;
  Fd output_;
  Fd messages_;
  bool running_ = true;
};

}  // namespace dt

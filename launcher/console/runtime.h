#pragma once

#include "base/clock.h"
#include "base/color.h"
#include "base/environment.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/signals.h"
#include "base/result.h"
#include "launcher/console/console.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace dt {

/// The objects that live as long as `dtrain run`. They are the loop, the two output streams, the
/// log, and the signals to dtrain.
class Runtime {
 public:
  struct Options {
    bool verbose = false;
    ColorChoice color = ColorChoice::automatic;
    bool needs_reader = false;  ///< a reader of standard output that goes away ends the job
  };
  static Result<std::unique_ptr<Runtime>> open(Options options, const Environment& environment);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Loop& loop() { return *loop_; }
  Sink& out() { return console_.out(); }
  Sink& err() { return console_.err(); }
  Log& log() { return log_; }
  bool colored_out() const { return colored_out_; }
  bool colored_err() const { return colored_err_; }
  /// Returns the last stop signal that came while no SignalHandlerScope lived; 0: none.
  int interrupted() const { return interrupted_; }
  /// Returns why text for standard output was dropped, if it was: its reader has gone
  /// (Errc::closed), or a write failed.
  const std::optional<Error>& lost_output() const { return lost_output_; }

  /// While this lives, all signals go to `on_signal`, and SIGPIPE when the reader that
  /// Options::needs_reader means has gone. Its destructor also drops the callbacks of
  /// text that is queued for the console, since the writers end with it.
  class SignalHandlerScope {
   public:
    SignalHandlerScope(Runtime& runtime, std::function<void(int number)> on_signal);
    SignalHandlerScope(const SignalHandlerScope&) = delete;
    SignalHandlerScope& operator=(const SignalHandlerScope&) = delete;
    ~SignalHandlerScope();

   private:
    Runtime& runtime_;
  };

  /// Stops this process until it gets SIGCONT, unless it has an unread one.
  static void suspend();

  /// Does as SIGTERM to dtrain, and as a second one after `grace`, which kills. A further call
  /// changes the grace at most.
  void stop(std::optional<Duration> grace);
  /// From now on the log has a copy in this file.
  void copy_log(Fd file) { log_copy_ = std::move(file); }

  /// Runs the loop until all queued text is written or `deadline` has come. A stop signal ends it,
  /// too: the user may not want to wait for a slow reader.
  void drain(Time deadline);

 private:
  explicit Runtime(bool verbose);
  void signalled(int number);
  void output_lost(const Error& error, bool needs_reader);
  void stop_if_wanted();

  std::unique_ptr<Loop> loop_;
  Console console_;
  Fd log_copy_;
  Log log_;
  std::unique_ptr<Signals> signals_;
  std::function<void(int)> on_signal_;
  int interrupted_ = 0;
  std::optional<Error> lost_output_;
  Timer reader_gone_;
  bool stopping_ = false;  ///< by stop()
  Timer second_stop_;
  bool pause_wanted_ = false;  ///< SIGTSTP came last while no SignalHandlerScope lived
  bool draining_ = false;
  bool colored_out_ = false;
  bool colored_err_ = false;
};

}  // namespace dt

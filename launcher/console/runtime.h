#pragma once

#include "base/color.h"
#include "base/environment.h"
#include "base/io/log.h"
#include "base/io/loop.h"
#include "base/io/signals.h"
#include "base/result.h"
#include "launcher/console/sink.h"

#include <functional>
#include <memory>

namespace dt {

/// What lives as long as `dtrain run`: the loop, the two output streams, dtrain's own lines, and
/// the signals that it gets.
class Runtime {
 public:
  struct Options {
    bool verbose = false;
    ColorChoice color = ColorChoice::automatic;
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
  /// The last signal that means stop and that nobody has taken; 0: none.
  int interrupted() const { return interrupted_; }

  /// While this lives all signals go to `take`; when it dies, nothing that is queued for the
  /// console calls its writers any more.
  class SignalHandlerScope {
   public:
    SignalHandlerScope(Runtime& stage, std::function<void(int number)> take);
    SignalHandlerScope(const SignalHandlerScope&) = delete;
    SignalHandlerScope& operator=(const SignalHandlerScope&) = delete;
    ~SignalHandlerScope();

   private:
    Runtime& stage_;
  };

  /// Stops this process until somebody makes it go on.
  static void suspend();

  /// Lets what is queued for the console leave, when nothing else is left to do: until `deadline`,
  /// or until a person who is tired of waiting sends a signal.
  void drain(Time deadline);

 private:
  explicit Runtime(bool verbose);
  void signalled(int number);
  void stop_if_wanted();

  std::unique_ptr<Loop> loop_;
  Console console_;
  Log log_;
  std::unique_ptr<Signals> signals_;
  std::function<void(int)> take_;
  int interrupted_ = 0;
  bool pause_wanted_ = false;  ///< by a SIGTSTP that came when nobody could act on it
  bool draining_ = false;
  bool colored_out_ = false;
  bool colored_err_ = false;
};

}  // namespace dt

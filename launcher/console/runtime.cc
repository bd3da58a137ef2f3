#include "launcher/console/runtime.h"

#include "base/bytes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace dt {

Runtime::Runtime(bool verbose)
    : log_(verbose ? Log::Level::verbose : Log::Level::normal, [this](std::string_view line) {
        console_.err().write(std::string(line), {});
        if (log_copy_) static_cast<void>(write_all(log_copy_.get(), as_bytes(line)));
      }) {
}

Result<std::unique_ptr<Runtime>> Runtime::open(Options options, const Environment& environment) {
  std::unique_ptr<Runtime> runtime(new Runtime(options.verbose));
  Runtime& self = *runtime;
  self.loop_ = TRY(Loop::create());
  const auto on_out_broken = [&self, needs = options.needs_reader](const Error& error) {
    self.output_lost(error, needs);
  };
  self.console_ =
      TRY(Console::open(*self.loop_, {.out = STDOUT_FILENO, .err = STDERR_FILENO}, on_out_broken));
  self.colored_out_ = wants_color(options.color, environment, self.out().terminal());
  self.colored_err_ = wants_color(options.color, environment, self.err().terminal());
  if (self.colored_err_) self.log_.use_color();
  self.signals_ = TRY(Signals::block(*self.loop_,
                                     {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
                                      SIGTSTP, SIGCONT, SIGPIPE, SIGXFSZ, SIGTTOU},
                                     [&self](int number) { self.signalled(number); }));
  return runtime;
}

void Runtime::signalled(int number) {
  if (number == SIGPIPE || number == SIGXFSZ) return;  // the failed write reports it
  // Blocked, SIGTTOU stops no process: a job in the background may still write to its terminal.
  if (number == SIGTTOU) return;
  if (on_signal_) {
    on_signal_(number);
  } else if (number == SIGTSTP) {
    pause_wanted_ = true;
    if (draining_) stop_if_wanted();
  } else if (number == SIGCONT) {
    pause_wanted_ = false;
  } else if (number != SIGUSR1 && number != SIGUSR2 && number != SIGWINCH) {
    interrupted_ = number;
  }
}

void Runtime::stop(std::optional<Duration> grace) {
  /// Signals that follow each other faster are one request.
  constexpr Duration shortest = milliseconds(400);
  if (!std::exchange(stopping_, true)) signalled(SIGTERM);
  if (grace)
    second_stop_ = loop_->after(std::max(*grace, shortest), [this] { signalled(SIGTERM); });
}

/// Called within a write: the job's reaction comes later, from the loop.
void Runtime::output_lost(const Error& error, bool needs_reader) {
  const std::string what = format("standard output cannot be written ({})", error.message);
  // Under nohup, a job survives its terminal: the user has closed that.
  if (!out().terminal()) lost_output_ = Error{error.code, what};
  if (!needs_reader || error.code != Errc::closed) {
    log_.warn("{}; the job goes on without it", what);
    return;
  }
  reader_gone_ = loop_->after(Duration::zero(), [this] {
    if (on_signal_) on_signal_(SIGPIPE);
  });
}

void Runtime::stop_if_wanted() {
  if (std::exchange(pause_wanted_, false)) suspend();
}

/// Uses SIGSTOP, since the kernel ignores SIGTSTP's default in an orphaned process group, which no
/// shell controls. It would discard an unread SIGCONT. That is newer than the last SIGTSTP, which
/// has discarded older ones.
void Runtime::suspend() {
  sigset_t pending;
  sigpending(&pending);
  if (sigismember(&pending, SIGCONT) == 0) ::kill(getpid(), SIGSTOP);
}

Runtime::SignalHandlerScope::SignalHandlerScope(Runtime& runtime,
                                                std::function<void(int number)> on_signal)
    : runtime_(runtime) {
  runtime_.on_signal_ = std::move(on_signal);
  // Agents cannot be paused while they start, so the pause comes now.
  if (std::exchange(runtime_.pause_wanted_, false)) runtime_.on_signal_(SIGTSTP);
}

Runtime::SignalHandlerScope::~SignalHandlerScope() {
  runtime_.on_signal_ = {};
  runtime_.console_.forget_writers();
}

void Runtime::drain(Time deadline) {
  interrupted_ = 0;
  draining_ = true;
  stop_if_wanted();
  while (!console_.drained() && interrupted_ == 0 && loop_->now() < deadline) {
    if (!loop_->run_once(deadline)) return;
  }
}

}  // namespace dt

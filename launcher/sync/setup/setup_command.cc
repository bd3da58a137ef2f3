#include "launcher/sync/setup/setup_command.h"

#include "base/format.h"
#include "base/io/fd.h"
#include "base/io/loop.h"
#include "base/text.h"
#include "launcher/process/child.h"
#include "launcher/process/sweep.h"
#include "launcher/sync/group_guard.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr size_t shown_bytes_max = 200;

/// A running command, and the end of its processes.
///
///   command runs ── it ends, deadline, or output fails ─▶ Sweep ── no process is left ─▶ done
class RunningCommand {
 public:
  using Sink = std::function<Result<>(std::string_view)>;
  /// `guard` kills the command's group if this process is killed with all above it.
  RunningCommand(Loop& loop, Child child, GroupGuard guard, Fd printed, const Sink& sink)
      : loop_(loop), child_(std::move(child)), printed_(std::move(printed)), sink_(sink) {
    guard_.emplace(std::move(guard));
  }

  Result<> run_until(Time deadline, int connection) {
    if (connection >= 0) {
      // Not EPOLLIN: orders may wait there.
      hang_up_ = TRY(loop_.watch(connection, EPOLLRDHUP, [this](uint32_t) {
        hang_up_ = Watch();
        sink_result_ = fail(Errc::closed, "the launcher has ended");
        end_processes();
      }));
    }
    reads_ = TRY(loop_.watch(printed_.get(), EPOLLIN, [this](uint32_t) { read_some(); }));
    end_ = TRY(loop_.watch(child_.pidfd(), EPOLLIN, [this](uint32_t) { command_ended(); }));
    if (deadline != Time::max()) {
      timer_ = loop_.at(deadline, [this] {
        late_ = true;
        end_processes();
      });
    }
    return loop_.run();
  }
  /// Passes on what the pipe still has. A process that could not be ended may write more, so this
  /// reads no more than a pipe can have.
  void drain() {
    constexpr size_t pipe_bytes_max = size_t{1} << 20;
    for (size_t read = 0; read < pipe_bytes_max;) {
      const size_t n = read_some();
      if (n == 0) return;
      read += n;
    }
  }

  bool late() const { return late_; }
  const Result<>& sink_result() const { return sink_result_; }
  /// None if the command could not be ended.
  const std::optional<Result<ExitStatus>>& status() const { return status_; }
  /// Fails if the shell could not start.
  Result<> started() const { return child_.executed().value_or(Result<>()); }
  const std::vector<std::string>& unkillable() const { return unkillable_; }
  const LastLines& last_lines() const { return last_lines_; }

 private:
  /// Returns the number of bytes; 0: there are none now.
  size_t read_some() {
    std::array<char, size_t{64} << 10> buffer;
    const ssize_t n = ::read(printed_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return read_some();
    if (n <= 0) {
      if (n == 0 || errno != EAGAIN) reads_ = Watch();
      return 0;
    }
    const std::string_view text(buffer.data(), static_cast<size_t>(n));
    last_lines_.add(text);
    if (sink_result_) sink_result_ = sink_(text);
    if (!sink_result_) end_processes();
    return text.size();
  }
  void command_ended() {
    end_ = Watch();
    // Before the group's number may become that of another group.
    guard_.reset();
    status_ = child_.reap();
    timer_ = Timer();
    end_processes();
  }
  void end_processes() {
    if (sweep_begun_) return;
    sweep_begun_ = true;
    const auto is_ours = [this](pid_t pid) {
      return (!status_ && pid == child_.pid()) || (guard_ && pid == guard_->pid());
    };
    std::vector<pid_t> spared;
    if (guard_) spared.push_back(guard_->pid());
    sweep_.emplace(loop_, Sweep::Options{.ours = is_ours, .spared = std::move(spared)},
                   [this](Sweep::Report report) {
                     unkillable_ = std::move(report.unkillable);
                     loop_.stop();
                   });
  }

  Loop& loop_;
  Child child_;
  std::optional<GroupGuard> guard_;  ///< none: the command has ended
  Fd printed_;
  const Sink& sink_;
  Result<> sink_result_;
  LastLines last_lines_;
  bool late_ = false;
  bool sweep_begun_ = false;
  std::optional<Result<ExitStatus>> status_;
  std::vector<std::string> unkillable_;
  std::optional<Sweep> sweep_;
  Watch hang_up_;
  Watch reads_;
  Watch end_;
  Timer timer_;
};

/// Returns the error with the command before the reason, and its last lines behind it.
tl::unexpected<Error> failure(const SetupCommand& command, const std::string& why,
                              const LastLines& last) {
  std::string text =
      format("--setup {}: {}", shell_quote(printable(command.line, shown_bytes_max)), why);
  const std::vector<std::string> lines = last.lines();
  text += lines.empty() ? "; it has printed nothing" : "; its last lines:";
  for (const std::string& line : lines)
    text += format("\n  {}", line);
  return fail(Errc::input, std::move(text));
}

Result<> judge(const SetupCommand& command, const RunningCommand& ran) {
  if (!ran.sink_result()) return ran.sink_result();
  const Result<> started = ran.started();
  if (!started) return failure(command, started.error().message, ran.last_lines());
  if (!ran.unkillable().empty()) {
    return failure(command, format("SIGKILL does not end {}", join(ran.unkillable(), ", ")),
                   ran.last_lines());
  }
  if (ran.late()) {
    return failure(command,
                   format("it was ended after {}, which --setup-timeout allows for all commands",
                          duration_text(command.timeout)),
                   ran.last_lines());
  }
  const Result<ExitStatus>& status = ran.status().value();
  if (!status) return tl::unexpected(status.error());
  if (!status->good()) return failure(command, status->text(), ran.last_lines());
  return {};
}

}  // namespace

void LastLines::add(std::string_view output) {
  constexpr size_t bytes_max = size_t{16} << 10;
  end_ += output.substr(output.size() - std::min(output.size(), bytes_max));
  if (end_.size() > 2 * bytes_max) end_.erase(0, end_.size() - bytes_max);
}

std::vector<std::string> LastLines::lines() const {
  std::vector<std::string> all;
  for (std::string_view line : split(end_, '\n')) {
    while (line.ends_with('\r'))
      line.remove_suffix(1);
    line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 is 0
    if (!trim(line).empty()) all.push_back(printable(line, shown_bytes_max));
  }
  if (all.size() > lines_max) all.erase(all.begin(), all.end() - lines_max);
  return all;
}

Result<> run_setup_command(const SetupCommand& command,
                           const std::function<Result<>(std::string_view)>& output) {
  become_subreaper();
  const std::unique_ptr<Loop> loop = TRY(Loop::create());
  Pipe pipe = TRY(make_pipe());
  Child child = TRY(Child::start({.path = "/bin/sh",
                                  .arguments = {"sh", "-c", command.line},
                                  .environment = command.environment,
                                  .cwd = command.folder,
                                  .output = pipe.write.get(),
                                  .error = pipe.write.get()}));
  pipe.write.reset();
  TRY(set_nonblocking(pipe.read.get()));
  Result<GroupGuard> guard = GroupGuard::start(child.pid());
  if (!guard) {
    static_cast<void>(child.kill());
    return tl::unexpected(std::move(guard).error());
  }
  RunningCommand running(*loop, std::move(child), *std::move(guard), std::move(pipe.read), output);
  TRY(running.run_until(command.deadline, command.connection));
  running.drain();
  return judge(command, running);
}

}  // namespace dt

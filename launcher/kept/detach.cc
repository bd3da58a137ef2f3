#include "launcher/kept/detach.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/io/loop.h"
#include "base/io/signals.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace dt {
namespace {

constexpr Duration log_period = milliseconds(50);

/// Leaves the terminal. Fails when the log cannot be made.
Result<> leave_terminal(const JobFolder& folder) {
  const Fd log(::open(folder.file("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      S_IRUSR | S_IWUSR));
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!log || !nothing) return fail_errno(format("cannot write {}", folder.file("log")));
  ::setsid();
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  return {};
}

/// The process that the user has started, until the job's own has started all tasks or ended.
class StartWatch {
 public:
  StartWatch(const JobFolder& folder, pid_t job, Fd started)
      : log_path_(folder.file("log")), job_(job), started_(std::move(started)) {}
  Result<std::optional<int>> wait();

 private:
  void copy_log();
  void copy_log_again();
  void ready();

  std::string log_path_;
  pid_t job_;
  Fd started_;
  Fd log_;
  std::unique_ptr<Loop> loop_;
  Timer timer_;
  bool has_started_ = false;
};

void StartWatch::copy_log() {
  if (!log_) log_ = Fd(::open(log_path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!log_) return;
  std::array<std::byte, 4096> buffer = {};
  for (;;) {
    const ssize_t n = ::read(log_.get(), buffer.data(), buffer.size());
    if (n <= 0) return;
    const auto bytes = std::span(buffer).first(static_cast<size_t>(n));
    // Where the terminal is gone, the log still has it.
    if (!::dt::write_all(STDERR_FILENO, bytes)) return;
  }
}

void StartWatch::copy_log_again() {
  copy_log();
  timer_ = loop_->after(log_period, [this] { copy_log_again(); });
}

void StartWatch::ready() {
  char byte = 0;
  has_started_ = ::read(started_.get(), &byte, 1) == 1;
  loop_->stop();
}

Result<std::optional<int>> StartWatch::wait() {
  loop_ = TRY(Loop::create());
  const auto signals = TRY(Signals::block(*loop_, {SIGINT, SIGTERM, SIGQUIT},
                                          [this](int number) { ::kill(job_, number); }));
  const Watch watch = TRY(loop_->watch(started_.get(), EPOLLIN, [this](uint32_t) { ready(); }));
  copy_log_again();
  TRY(loop_->run());
  copy_log();
  if (has_started_) return std::optional<int>();
  int status = 0;
  while (::waitpid(job_, &status, 0) < 0 && errno == EINTR) {
  }
  copy_log();
  return std::optional<int>(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

Result<> check_can_detach(const RunConfig& config) {
  if (!config.nodes || config.nodes->rank == 0) return {};
  if (!config.nodes->rank) {
    return fail(Errc::input,
                "--detach: node 0 keeps the job, and without its rank a node learns only later "
                "whether it is node 0; give each node its --node-rank, or leave --detach out");
  }
  return fail(Errc::input,
              format("--detach: this is node {}, and the job is kept on node 0; leave --detach out "
                     "here, and write nohup dtrain job run FILE & for a node without a terminal",
                     *config.nodes->rank));
}

Result<Detached> detach_job(const JobFolder& folder) {
  Pipe started = TRY(make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return fail_errno("cannot start a process for the job");
  if (child > 0) {
    started.write.reset();
    const auto status = TRY(StartWatch(folder, child, std::move(started.read)).wait());
    return Detached{.status = status};
  }
  TRY(leave_terminal(folder));
  return Detached{.started = std::move(started.write)};
}

}  // namespace dt

#include "launcher/discovery/discovery_program.h"

#include "base/environment.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/process/executable.h"
#include "launcher/process/sweep.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// The pause between two tries to collect processes that were killed.
constexpr Duration collect_interval = milliseconds(20);
/// Reads of stderr after the exit: another process may write to it without end.
constexpr int last_reads_max = 16;

/// Reads once. Returns false when the pipe has nothing now, or has ended.
template <class Take>
bool read_once(int pipe, Watch& watch, const Take& take) {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
  if (n > 0) take(std::string_view(buffer.data(), static_cast<size_t>(n)));
  if (n == 0) watch = Watch();
  return n > 0 || (n < 0 && errno == EINTR);
}

/// Finds the program as a path, and never in PATH.
Result<std::string> find_program(const std::string& path) {
  const bool is_path = path.find('/') != std::string::npos;
  auto found = find_executable(is_path ? path : "./" + path, "", ".");
  if (!found) return fail(Errc::input, "cannot read hosts: " + found.error().message);
  return found;
}

}  // namespace

Result<std::unique_ptr<DiscoveryProgram>> DiscoveryProgram::start(Loop& loop,
                                                                  const std::string& path,
                                                                  DiscoveryLimits limits,
                                                                  OnDone on_done) {
  const std::string file = TRY(find_program(path));
  Pipe output = TRY(make_pipe());
  Pipe errors = TRY(make_pipe());
  Child child = TRY(Child::start({.path = file,
                                  .arguments = {path},
                                  .environment = environment_entries(process_environment()),
                                  .cwd = {},
                                  .output = output.write.get(),
                                  .error = errors.write.get(),
                                  .new_session = true}));
  std::unique_ptr<DiscoveryProgram> program(
      new DiscoveryProgram(loop, std::move(child), limits, std::move(on_done)));
  program->path_ = path;
  program->output_ = std::move(output.read);
  program->errors_ = std::move(errors.read);
  GroupGuard guard = TRY(GroupGuard::start(program->child_.pid()));
  program->guard_.emplace(std::move(guard));
  TRY(program->watch());
  return program;
}

DiscoveryProgram::~DiscoveryProgram() {
  guard_.reset();
  if (!is_collected_) {
    [[maybe_unused]] const auto status = child_.kill();
  }
  reap_group(child_.pid());
}

Result<> DiscoveryProgram::watch() {
  for (const int pipe : {output_.get(), errors_.get()})
    TRY(set_nonblocking(pipe));
  output_watch_ = TRY(loop_.watch(output_.get(), EPOLLIN, [this](uint32_t) { read_output(); }));
  errors_watch_ = TRY(loop_.watch(errors_.get(), EPOLLIN, [this](uint32_t) { read_errors(); }));
  exit_watch_ = TRY(loop_.watch(child_.pidfd(), EPOLLIN, [this](uint32_t) { exited(); }));
  timer_ = loop_.after(limits_.patience, [this] {
    stop(format("it has not ended after {}", duration_text(limits_.patience)));
  });
  return {};
}

bool DiscoveryProgram::read_output() {
  if (text_.size() > limits_.output_bytes_max) return false;
  const bool more =
      read_once(output_.get(), output_watch_, [this](std::string_view part) { text_ += part; });
  if (text_.size() <= limits_.output_bytes_max) return more;
  output_watch_ = Watch();
  stop(format("it prints more than {} bytes", limits_.output_bytes_max));
  return false;
}

bool DiscoveryProgram::read_errors() {
  return read_once(errors_.get(), errors_watch_,
                   [this](std::string_view part) { last_errors_.add(part); });
}

/// Kills the program. Its exit reports the failure, unless it hangs in the kernel.
void DiscoveryProgram::stop(std::string why) {
  if (stopped_) return;
  stopped_ = std::move(why);
  child_.signal_group(SIGKILL);
  timer_ = loop_.after(limits_.kill_patience, [this] { finish(stopped_); });
}

void DiscoveryProgram::exited() {
  exit_watch_ = Watch();
  // Processes that the program leaves behind may hold its pipes open: their ends are not awaited.
  while (read_output())
    continue;
  for (int i = 0; i < last_reads_max && read_errors(); ++i)
    continue;
  child_.signal_group(SIGKILL);
  guard_.reset();
  const auto status = child_.reap();
  is_collected_ = true;
  finish(fault_of(status));
}

std::optional<std::string> DiscoveryProgram::fault_of(const Result<ExitStatus>& status) const {
  if (stopped_) return stopped_;
  const auto executed = child_.executed();
  if (executed && !*executed) return executed->error().message;
  if (!status) return status.error().message;
  if (!status->good()) return status->text();
  return std::nullopt;
}

void DiscoveryProgram::finish(std::optional<std::string> fault) {
  output_watch_ = Watch();
  errors_watch_ = Watch();
  exit_watch_ = Watch();
  timer_ = Timer();
  collect_rest();
  // A copy: the callback may destroy this object.
  const OnDone on_done = std::exchange(on_done_, nullptr);
  if (!fault) return on_done(std::move(text_));
  std::string message = format("cannot read hosts from {}: {}", printable(path_), *fault);
  for (const std::string& line : last_errors_.lines())
    message += "\n  " + line;
  on_done(fail(Errc::input, std::move(message)));
}

/// Collects the killed processes of the group, which became children of this process, if it is a
/// subreaper.
void DiscoveryProgram::collect_rest() {
  if (!reap_group(child_.pid())) timer_ = loop_.after(collect_interval, [this] { collect_rest(); });
}

}  // namespace dt

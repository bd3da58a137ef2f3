#include "launcher/process/child.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/process/child_main.h"
#include "launcher/process/executable.h"
#include "launcher/process/kernel_call.h"
#include "launcher/process/pidfd.h"
#include "launcher/process/topology.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>

namespace dt {

namespace {

rlimit open_files_limit(uint64_t soft) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (soft != 0) limit.rlim_cur = soft;
  return limit;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  // execve(2) takes char* for historical reasons and does not write.
  for (const std::string& text : texts)
    all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// The kernel's form of a set of CPUs: one bit for each.
std::vector<unsigned long> cpu_mask(const std::vector<int>& cpus) {
  constexpr size_t bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const auto bit = static_cast<size_t>(cpu);
    if (mask.size() <= bit / bits) mask.resize(bit / bits + 1);
    mask[bit / bits] |= 1UL << bit % bits;
  }
  return mask;
}

Duration duration_of(const timeval& time) {
  return seconds(time.tv_sec) + microseconds(time.tv_usec);
}

ResourceUse resource_use(const rusage& usage) {
  return {.user = duration_of(usage.ru_utime),
          .system = duration_of(usage.ru_stime),
          .max_rss_bytes = int64_t{usage.ru_maxrss} << 10,
          .major_faults = usage.ru_majflt,
          .voluntary_switches = usage.ru_nvcsw,
          .involuntary_switches = usage.ru_nivcsw};
}

}  // namespace

/// The memory that the child uses between its clone and its exec: it must stay unchanged until
/// then.
struct Child::PendingExec {
  explicit PendingExec(ChildRequest wanted);
  /// Returns the child's pid, or minus the errno.
  long clone(int* pidfd);

  ChildRequest request;
  std::vector<std::string> shell_texts;
  std::vector<char*> arguments;
  std::vector<char*> shell_arguments;
  std::vector<char*> environment;
  std::vector<unsigned long> cpus;
  ChildOrder order;
  /// The kernel sets it to 0 when the child has released our memory, by its exec or its end.
  std::atomic<int> tid = 1;
  alignas(16) std::array<std::byte, size_t{16} << 10> stack;  // the child's
};

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the stack needs no contents
Child::PendingExec::PendingExec(ChildRequest wanted)
    : request(std::move(wanted)),
      shell_texts({"sh", request.path}),
      arguments(pointers(request.arguments)),
      environment(pointers(request.environment)),
      cpus(cpu_mask(request.cpus)) {
  shell_texts.insert(shell_texts.end(), request.arguments.begin() + 1, request.arguments.end());
  shell_arguments = pointers(shell_texts);
  order = {.path = request.path.c_str(),
           .arguments = arguments.data(),
           .shell_arguments = shell_arguments.data(),
           .environment = environment.data(),
           .cwd = request.cwd.empty() ? nullptr : request.cwd.c_str(),
           .fds = {request.input, request.output, request.error},
           .kept = request.kept,
           .new_session = request.new_session,
           .joins_group = request.joins_group,
           .death_signal = request.death_signal,
           .open_files = open_files_limit(request.open_files_max),
           .cpu_mask = cpus.empty() ? nullptr : cpus.data(),
           .cpu_mask_bytes = cpus.size() * sizeof(unsigned long),
           .parent = getpid()};
}

long Child::PendingExec::clone(int* pidfd) {
  static_assert(sizeof tid == sizeof(int));
  constexpr unsigned long flags = CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID;
  const CloneOrder plain = {.flags = flags | SIGCHLD,
                            .stack_top = stack.data() + stack.size(),
                            .pidfd = pidfd,
                            .tid = reinterpret_cast<int*>(&tid),
                            .main = child_main,
                            .argument = &order};
  clone_args how = {};
  how.flags = flags | CLONE_CLEAR_SIGHAND;
  how.exit_signal = SIGCHLD;
  how.stack = reinterpret_cast<uint64_t>(stack.data());
  how.stack_size = stack.size();
  how.pidfd = reinterpret_cast<uint64_t>(pidfd);
  how.child_tid = reinterpret_cast<uint64_t>(&tid);
  if (request.cgroup >= 0) {
    how.flags |= CLONE_INTO_CGROUP;
    how.cgroup = static_cast<uint64_t>(request.cgroup);
  }
  // One flag replaces 64 system calls of the child.
  order.handlers_dropped = true;
  const long pid = kernel_clone3(how, child_main, &order);
  if (pid >= 0) return pid;
  order.handlers_dropped = false;
  // Old kernels and some containers refuse clone3. Then the child is in our cgroup, and only the
  // Sweep ends the processes that it leaves behind.
  return kernel_clone(plain);
}

void Child::ReleasePendingExec::operator()(PendingExec* pending) const {
  if (pending->tid.load(std::memory_order_acquire) == 0)
    std::default_delete<PendingExec>()(pending);
}

Child::Child(pid_t pid, Fd pidfd, PendingExecPtr pending_exec)
    : pid_(pid), pidfd_(std::move(pidfd)), pending_exec_(std::move(pending_exec)) {
}

Result<Child> Child::start(ChildRequest request) {
  Fd null;
  if (request.input < 0) {
    null = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return fail_errno("cannot open /dev/null");
    request.input = null.get();
  }
  for (const int fd : {request.input, request.output, request.error, request.kept})
    assert(fd == -1 || fd > STDERR_FILENO);
  auto pending = std::make_unique<PendingExec>(std::move(request));
  int pidfd = -1;
  // Blocked across the clone: the child inherits this mask, and unblocks signals only after it has
  // dropped our handlers.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const long pid = pending->clone(&pidfd);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno("cannot start a process", static_cast<int>(-pid));
  // Parent and child both make the group: so it exists when this returns, and before the exec.
  if (!pending->request.new_session && !pending->request.joins_group)
    setpgid(static_cast<pid_t>(pid), static_cast<pid_t>(pid));
  return Child(static_cast<pid_t>(pid), Fd(pidfd), PendingExecPtr(pending.release()));
}

std::optional<Result<>> Child::executed() const {
  if (!pending_exec_) return Result<>();
  if (pending_exec_->tid.load(std::memory_order_acquire) != 0) return std::nullopt;
  const ChildOrder& order = pending_exec_->order;
  if (order.error == 0) return Result<>();
  const ChildRequest& request = pending_exec_->request;
  if (order.failed == ChildOrder::Step::folder)
    return fail_errno(format("cannot enter {}", shell_quote(request.cwd)), order.error);
  if (order.failed == ChildOrder::Step::binding)
    return fail_errno("cannot bind to cpus " + ranges_text(request.cpus), order.error);
  const bool missing = order.error == ENOENT || order.error == ENOTDIR;
  const std::string part = missing ? missing_part(request.path) : "";
  return fail(missing ? Errc::not_found : Errc::not_runnable,
              format("cannot run {}: {}", shell_quote(printable(request.path)),
                     part.empty() ? errno_text(order.error) : part));
}

Result<ExitStatus> Child::reap() {
  return collect(0);
}

Result<ExitStatus> Child::collect(int options) {
  int status = 0;
  rusage usage = {};
  pid_t got = -1;
  do {
    got = wait4(pid_, &status, options, &usage);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno(format("cannot collect process {}", pid_));
  if (got == 0) return fail(Errc::timeout, format("process {} has not ended", pid_));
  used_ = resource_use(usage);
  if (WIFSIGNALED(status)) return ExitStatus{.signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status)};
}

void Child::signal_group(int number) const {
  // A child that has ended keeps its pid and group number until its status is collected.
  if (!signal_pidfd(pidfd_.get(), 0) && errno == ESRCH) return;
  ::kill(-pid_, number);
}

Result<ExitStatus> Child::kill(Duration patience) {
  signal_group(SIGKILL);
  // To the child by its pid, too: it may not have made its group yet.
  if (!signal_pidfd(pidfd_.get(), SIGKILL) && errno != ESRCH) ::kill(pid_, SIGKILL);
  pollfd end = {.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  const Time deadline = Clock::now() + patience;
  while (::poll(&end, 1, poll_ms(Clock::now(), deadline)) < 0 && errno == EINTR)
    continue;
  return collect(WNOHANG);
}

}  // namespace dt

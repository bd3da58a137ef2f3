#include "launcher/child.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/clone_into.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>

namespace dt {

namespace {

/// What the child reads while it shares our memory, and where it leaves its errno. Everything is
/// made before the clone: the child may only make system calls.
struct Order {
  const char* path;
  char* const* arguments;
  char* const* shell_arguments;  ///< sh PATH ARGUMENT…: for scripts without #!, as execvp(3) does
  char* const* environment;
  const char* cwd;
  int fds[3];
  bool new_session;
  int death_signal;
  rlimit open_files;
  pid_t parent;
  int error = 0;
  bool in_chdir = false;  ///< the error is the folder's, not the program's
};

__attribute__((no_sanitize("address", "thread"), noreturn)) void give_up(Order* order) {
  order->error = errno;
  _exit(127);
}

/// Runs in the child, on its own stack, in our memory, while this thread waits (CLONE_VFORK). Not
/// instrumented: the sanitizers would see a second thread where there is none.
__attribute__((no_sanitize("address", "thread"))) int child_main(void* argument) {
  auto* order = static_cast<Order*>(argument);
  prctl(PR_SET_PDEATHSIG, order->death_signal);
  // Our parent may have died before the line above; then nobody would ever end us.
  if (getppid() != order->parent) _exit(127);
  if (order->new_session) {
    setsid();
  } else {
    setpgid(0, 0);
  }
  // First above 2, so that none of the three is overwritten before it has been copied.
  int high[3];
  for (int i = 0; i < 3; ++i) {
    high[i] = order->fds[i] < 0 ? -1 : fcntl(order->fds[i], F_DUPFD_CLOEXEC, 3);
    if (order->fds[i] >= 0 && high[i] < 0) give_up(order);
  }
  for (int i = 0; i < 3; ++i) {
    if (high[i] >= 0 && dup2(high[i], i) < 0) give_up(order);
  }
  close_range(3, ~0U, 0);
  setrlimit(RLIMIT_NOFILE, &order->open_files);
  if (order->cwd != nullptr && chdir(order->cwd) < 0) {
    order->in_chdir = true;
    give_up(order);
  }
  sigset_t none;
  sigemptyset(&none);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(order->path, order->arguments, order->environment);
  if (errno == ENOEXEC) execve("/bin/sh", order->shell_arguments, order->environment);
  give_up(order);
}

void child_main_in_cgroup(void* argument) {
  child_main(argument);
}

/// The new process's pid, or a negative errno.
long clone_in_cgroup(Order& order, int cgroup, int* pidfd) {
  clone_args how = {};
  how.flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.pidfd = reinterpret_cast<uint64_t>(pidfd);
  how.cgroup = static_cast<uint64_t>(cgroup);
  return clone_into(how, child_main_in_cgroup, &order);
}

rlimit open_files_limit(uint64_t soft) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (soft != 0) limit.rlim_cur = soft;
  return limit;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  // execve(2) takes char* for history's sake and changes nothing.
  for (const std::string& text : texts)
    all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// A stack for the child, taken from mmap so that a guard page lies below it.
class ChildStack {
 public:
  ChildStack()
      : base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                   -1, 0)) {}
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  ~ChildStack() {
    if (*this) munmap(base_, bytes);
  }
  explicit operator bool() const { return base_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(base_) + bytes; }

 private:
  static constexpr size_t bytes = size_t{64} << 10;
  void* base_;
};

Result<> exec_result(const ChildRequest& request, const Order& order) {
  const int number = order.error;
  if (number == 0) return {};
  if (order.in_chdir)
    return fail_errno(format("cannot enter {}", shell_quote(request.cwd)), number);
  const Errc code = number == ENOENT || number == ENOTDIR ? Errc::not_found : Errc::not_runnable;
  return fail(
      code, format("cannot run {}: {}", shell_quote(printable(request.path)), errno_text(number)));
}

}  // namespace

Result<Child> Child::start(const ChildRequest& request) {
  const ChildStack stack;
  if (!stack) return fail_errno("cannot make a stack for a process");
  Fd null;
  if (request.input < 0) {
    null = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return fail_errno("cannot open /dev/null");
  }
  std::vector<std::string> shell_words = {"sh", request.path};
  shell_words.insert(shell_words.end(), request.arguments.begin() + 1, request.arguments.end());
  const std::vector<char*> arguments = pointers(request.arguments);
  const std::vector<char*> shell_arguments = pointers(shell_words);
  const std::vector<char*> environment = pointers(request.environment);
  Order order = {
      .path = request.path.c_str(),
      .arguments = arguments.data(),
      .shell_arguments = shell_arguments.data(),
      .environment = environment.data(),
      .cwd = request.cwd.empty() ? nullptr : request.cwd.c_str(),
      .fds = {null ? null.get() : request.input, request.output, request.error},
      .new_session = request.new_session,
      .death_signal = request.death_signal,
      .open_files = open_files_limit(request.open_files_max),
      .parent = getpid(),
  };
  // All signals wait while the child uses our memory, so that no handler of ours runs in it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  long pid = request.cgroup < 0 ? -1 : clone_in_cgroup(order, request.cgroup, &pidfd);
  // Also when the cgroup will not have it: the sweep finds it as well.
  if (pid < 0) {
    pid = clone(child_main, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &order,
                &pidfd);
  }
  const int clone_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail_errno("cannot start a process", clone_error);
  Child child(static_cast<pid_t>(pid), Fd(pidfd));
  if (auto executed = exec_result(request, order); !executed) {
    TRY(child.reap());
    return tl::unexpected(executed.error());
  }
  return child;
}

Result<ExitStatus> Child::reap() {
  int status = 0;
  pid_t got = -1;
  do {
    got = waitpid(pid_, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno(format("cannot collect process {}", pid_));
  if (WIFSIGNALED(status)) return ExitStatus{.signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status)};
}

void Child::signal_group(int number) const {
  // It may have ended already: then there is nothing to tell.
  ::kill(-pid_, number);
}

}  // namespace dt

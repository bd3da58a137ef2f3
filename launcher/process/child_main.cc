#include "launcher/process/child_main.h"

#include "launcher/process/kernel_call.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace dt {

namespace {

long register_value(long number) {
  return number;
}
long register_value(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}
long register_value(char* const* texts) {
  return reinterpret_cast<long>(texts);
}

/// A system call of the child. It touches neither errno nor other state of libc, which the parent
/// uses at the same time.
template <class A = long, class B = long, class C = long, class D = long>
long call(long number, A first = 0, B second = 0, C third = 0, D fourth = 0) {
  return kernel_call(number, register_value(first), register_value(second), register_value(third),
                     register_value(fourth));
}

/// The kernel's struct sigaction; all zeros mean SIG_DFL.
struct KernelAction {
  unsigned long handler = 0;
  unsigned long flags = 0;
  unsigned long restorer = 0;
  unsigned long mask = 0;
};

/// Resets our signal handlers. A handler that runs in the child would change our memory from a
/// thread that libc does not know.
void drop_handlers() {
  constexpr KernelAction standard;
  for (int number = 1; number < NSIG; ++number) {
    KernelAction current;
    call(SYS_rt_sigaction, number, 0, &current, sizeof current.mask);
    const bool handled = current.handler > 1;  // neither SIG_DFL nor SIG_IGN
    if (handled) call(SYS_rt_sigaction, number, &standard, 0, sizeof current.mask);
  }
}

[[noreturn]] void exit_with_error(ChildOrder* order, long result,
                                  ChildOrder::Step failed = ChildOrder::Step::exec) {
  order->failed = failed;
  order->error = static_cast<int>(-result);
  call(SYS_exit_group, 127);
  __builtin_unreachable();
}

}  // namespace

void child_main(void* argument) {
  auto* const order = static_cast<ChildOrder*>(argument);
  call(SYS_prctl, PR_SET_PDEATHSIG, order->death_signal);
  // If the parent died before prctl, no death signal would ever come.
  if (call(SYS_getppid) != order->parent) exit_with_error(order, -ESRCH);
  if (order->new_session) {
    call(SYS_setsid);
  } else if (!order->joins_group) {
    call(SYS_setpgid, 0, 0);
  }
  for (int i = 0; i < 3; ++i) {
    const long result = order->fds[i] < 0 ? 0 : call(SYS_dup3, order->fds[i], i, 0);
    if (result < 0) exit_with_error(order, result);
  }
  // Closed by the exec, not here: the parent sees the end of a pipe as the end of the exec.
  call(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (order->kept >= 0) call(SYS_fcntl, order->kept, F_SETFD, 0);
  call(SYS_prlimit64, 0, RLIMIT_NOFILE, &order->open_files, 0);
  const long entered = order->cwd == nullptr ? 0 : call(SYS_chdir, order->cwd);
  if (entered < 0) exit_with_error(order, entered, ChildOrder::Step::folder);
  const long bound = order->cpu_mask == nullptr
                         ? 0
                         : call(SYS_sched_setaffinity, 0, order->cpu_mask_bytes, order->cpu_mask);
  if (bound < 0) exit_with_error(order, bound, ChildOrder::Step::binding);
  if (!order->handlers_dropped) drop_handlers();
  const uint64_t no_signals = 0;
  call(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof no_signals);
  long result = call(SYS_execve, order->path, order->arguments, order->environment);
  // A script without #!: like execvp(3), run it with sh.
  if (result == -ENOEXEC) {
    result = call(SYS_execve, "/bin/sh", order->shell_arguments, order->environment);
  }
  exit_with_error(order, result);
}

}  // namespace dt

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

long word(long number) {
  return number;
}
long word(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}
long word(char* const* texts) {
  return reinterpret_cast<long>(texts);
}

/// A system call of the child's: neither errno nor anything else of libc's is touched.
template <class A = long, class B = long, class C = long, class D = long>
long call(long number, A first = 0, B second = 0, C third = 0, D fourth = 0) {
  return kernel_call(number, word(first), word(second), word(third), word(fourth));
}

/// The kernel's struct sigaction; all zero it is SIG_DFL.
struct KernelAction {
  unsigned long handler = 0;
  unsigned long flags = 0;
  unsigned long restorer = 0;
  unsigned long mask = 0;
};

/// A handler of ours must not run in the child: it would find our memory, but not our thread.
void drop_handlers() {
  constexpr KernelAction standard;
  for (int number = 1; number < NSIG; ++number) {
    KernelAction current;
    call(SYS_rt_sigaction, number, 0, &current, sizeof current.mask);
    const bool handled = current.handler > 1;  // neither SIG_DFL nor SIG_IGN
    if (handled) call(SYS_rt_sigaction, number, &standard, 0, sizeof current.mask);
  }
}

[[noreturn]] void give_up(ChildOrder* order, long result,
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
  // Our parent may have died before the line above; then nobody would ever end us.
  if (call(SYS_getppid) != order->parent) give_up(order, -ESRCH);
  if (order->new_session) {
    call(SYS_setsid);
  } else {
    call(SYS_setpgid, 0, 0);
  }
  for (int i = 0; i < 3; ++i) {
    const long result = order->fds[i] < 0 ? 0 : call(SYS_dup3, order->fds[i], i, 0);
    if (result < 0) give_up(order, result);
  }
  // Not closed yet: by the end of its copy of a pipe our parent sees that the exec is over.
  call(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  call(SYS_prlimit64, 0, RLIMIT_NOFILE, &order->open_files, 0);
  const long entered = order->cwd == nullptr ? 0 : call(SYS_chdir, order->cwd);
  if (entered < 0) give_up(order, entered, ChildOrder::Step::folder);
  const long bound = order->cpu_mask == nullptr
                         ? 0
                         : call(SYS_sched_setaffinity, 0, order->cpu_mask_bytes, order->cpu_mask);
  if (bound < 0) give_up(order, bound, ChildOrder::Step::binding);
  drop_handlers();
  const uint64_t no_signals = 0;
  call(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof no_signals);
  long result = call(SYS_execve, order->path, order->arguments, order->environment);
  // As execvp(3) does.
  if (result == -ENOEXEC) {
    result = call(SYS_execve, "/bin/sh", order->shell_arguments, order->environment);
  }
  give_up(order, result);
}

}  // namespace dt

#pragma once

#include <linux/sched.h>

namespace dt {

// System calls without the C library, for a child that still shares our memory. libc would write
// the child's errno into ours. Each processor has a file (kernel_call_<processor>.cc) with
// kernel_call and kernel_clone_call in its assembly language.

/// Makes a system call. Returns its result, or minus the errno.
long kernel_call(long number, long first, long second, long third, long fourth);

/// A child's function, which runs on the child's own stack and never returns.
using ChildMain = void (*)(void* argument);

struct CloneOrder {
  unsigned long flags = 0;
  void* stack_top = nullptr;
  int* pidfd = nullptr;  ///< CLONE_PIDFD: the kernel writes the descriptor here
  int* tid = nullptr;    ///< CLONE_CHILD_CLEARTID: the kernel clears this
  ChildMain main = nullptr;
  void* argument = nullptr;
};

/// clone(2). Returns the child's pid, or minus the errno.
long kernel_clone(const CloneOrder& order);
/// clone3(2), for options that clone(2) lacks (CLONE_INTO_CGROUP, CLONE_CLEAR_SIGHAND).
long kernel_clone3(const clone_args& how, ChildMain main, void* argument);

/// The arguments of clone(2) or clone3(2), in the kernel's order except for the tid: its position
/// depends on the processor. The new thread's TLS is always 0.
struct CloneCall {
  long number = 0;
  long first = 0;
  long second = 0;
  long third = 0;
  long tid = 0;  ///< for clone(2) only
  ChildMain main = nullptr;
  void* argument = nullptr;
};
/// Makes either call. Returns the child's pid, or minus the errno.
long kernel_clone_call(const CloneCall& call);

}  // namespace dt

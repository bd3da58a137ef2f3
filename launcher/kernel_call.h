#pragma once

#include <linux/sched.h>

namespace dt {

/// System calls without the C library, for a child that still uses our memory: libc would write its
/// errno into ours. One file a processor implements them (kernel_call_<processor>.cc).

/// The result, or minus the errno.
long kernel_call(long number, long first, long second, long third, long fourth);

/// What a child runs, on a stack of its own; it never returns.
using ChildMain = void (*)(void* argument);

struct CloneOrder {
  unsigned long flags = 0;
  void* stack_top = nullptr;
  int* pidfd = nullptr;  ///< CLONE_PIDFD: where to put it
  int* tid = nullptr;    ///< CLONE_CHILD_CLEARTID: what to clear
  ChildMain main = nullptr;
  void* argument = nullptr;
};

/// clone(2): the child's pid, or minus the errno.
long kernel_clone(const CloneOrder& order);
/// clone3(2), for what clone(2) cannot say.
long kernel_clone3(const clone_args& how, ChildMain main, void* argument);

}  // namespace dt

#pragma once

#include <linux/sched.h>

namespace dt {

/// System calls without the C library, for a child that still uses our memory: libc would write its
/// errno into ours. One file a processor has the two that are written in its assembly language,
/// kernel_call and kernel_clone_call (kernel_call_<processor>.cc).

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

/// What clone(2) or clone3(2) are called with, in the order of the arguments but for the tid, whose
/// place differs between processors. The new thread's TLS is always 0.
struct CloneCall {
  long number = 0;
  long first = 0;
  long second = 0;
  long third = 0;
  long tid = 0;  ///< of clone(2) alone
  ChildMain main = nullptr;
  void* argument = nullptr;
};
/// Both of them: the child's pid, or minus the errno.
long kernel_clone_call(const CloneCall& call);

}  // namespace dt

#pragma once

#include <linux/sched.h>

namespace dt {

/// clone3(2) for CLONE_VM | CLONE_VFORK without a stack of its own, which no library offers: calls
/// `child(argument)` in the new process, on our stack below this frame, while we wait. That
/// function must not return. The child's pid, or a negative errno.
long clone_into(clone_args& how, void (*child)(void*), void* argument);

}  // namespace dt

#pragma once

#include "base/io/fd.h"

#include <sys/types.h>

namespace dt {

// glibc 2.34 has neither of these two calls.

/// Returns a descriptor that refers to this process for good; a pid may be reused. Empty, with
/// errno, when no such process exists (ESRCH) or the kernel refuses.
Fd open_pidfd(pid_t pid);
/// Returns false, with errno, when the process's status has been collected (ESRCH) or the kernel
/// refuses.
bool signal_pidfd(int pidfd, int number);

}  // namespace dt

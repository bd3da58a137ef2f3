#pragma once

#include "base/io/fd.h"

#include <sys/types.h>

namespace dt {

/// Stands for this process and never for another one, unlike its number. Empty, with errno: there
/// is no such process (ESRCH), or the kernel refuses. glibc 2.34 has neither of these two calls.
Fd open_pidfd(pid_t pid);
/// False, with errno: its status has been collected (ESRCH), or the kernel refuses.
bool signal_pidfd(int pidfd, int number);

}  // namespace dt

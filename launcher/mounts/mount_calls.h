#pragma once

#include "base/io/fd.h"

#include <string>

namespace dt {

// Calls of Linux 5.2 and 5.12 that glibc 2.34 does not have. Each leaves errno when it fails.

/// Returns a copy of all mounts at and below a folder, which has no place yet; empty: it failed.
Fd copy_mounts(const std::string& folder);
/// Gives such a copy a place. Returns false when it failed.
bool attach_mounts(int copy, const std::string& target);
/// Makes a mount and those below it read-only. Returns false when it failed.
bool set_read_only(const std::string& target);
/// Makes a folder the root of this process's namespace; `old`, below it, gets the old root.
bool pivot_root(const std::string& folder, const std::string& old);

}  // namespace dt

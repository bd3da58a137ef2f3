#pragma once

#include "base/io/fd.h"

#include <string>

namespace dt {

/// Locks a folder until the descriptor is closed. An agent locks its own folder. A process that
/// removes the leftovers of a killed agent locks them for a moment. Returns an empty Fd when
/// another process holds the lock, or `path` is not a folder. Why not a file with a pid: another
/// container that sees the same folder numbers its processes differently.
Fd lock_folder(const std::string& path);

}  // namespace dt

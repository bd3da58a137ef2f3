#pragma once

#include "base/io/fd.h"

#include <string>

namespace dt {

/// Holds a folder for as long as the descriptor is open: an agent its own, and for a moment whoever
/// removes what a killed one has left. None while another holds it, or if it is none. A pid would
/// mean something else in another container that sees the same folder.
Fd lock_folder(const std::string& path);

}  // namespace dt

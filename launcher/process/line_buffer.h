#pragma once

#include "base/environment.h"

#include <string>
#include <vector>

namespace dt {

/// Writes the library that makes stdout line-buffered into `folder`. Returns its path; empty where
/// it cannot be written, or the folder's files cannot be loaded as code.
std::string write_line_buffer(const std::string& folder);

/// True if the command names a program that starts others with other files or as another user
/// (docker, chroot, su). A library of ours may be out of their reach, of which they would warn.
bool leaves_our_files(const std::vector<std::string>& command);

/// Adds the library to those that the user preloads.
void add_line_buffer(Environment& environment, const std::string& library);

/// Removes what an outer job has added.
void remove_line_buffer(Environment& environment);

}  // namespace dt

#pragma once

#include <unistd.h>

#include <string>

namespace dt {

/// Gives a file (or a symbolic link itself) to another user. Returns false for a test that does not
/// run as root.
inline bool give_to_another_user(const std::string& path) {
  constexpr uid_t nobody = 65534;
  return ::geteuid() == 0 && ::lchown(path.c_str(), nobody, nobody) == 0;
}

}  // namespace dt

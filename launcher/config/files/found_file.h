#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// A configuration file that the user did not name: its text, or why it is left out.
struct FoundFile {
  enum class State : uint8_t {
    absent,
    unreadable,  ///< this process may not read it
    distrusted,  ///< another user could have written it
    read,
  };
  State state = State::absent;
  std::string text = {};  ///< for State::read
  std::string why = {};   ///< for State::unreadable and State::distrusted
};

/// Returns the user's own file of this name: $XDG_CONFIG_HOME/dtrain/NAME or ~/.config/dtrain/NAME.
/// Returns none where neither variable has an absolute folder.
std::optional<std::string> user_config_file(const Environment& environment, std::string_view name);

/// Reads a file at a place where another user may have put one. A regular file is trusted if only
/// its owner may write it, and the owner is this process's user or root. A link to the file must
/// belong to one of them, too. The call does not wait for a FIFO. Fails for other obstacles, and
/// for a file of more than `bytes_max` bytes.
Result<FoundFile> read_found_file(const std::string& path, size_t bytes_max);

}  // namespace dt

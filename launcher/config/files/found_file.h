#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace dt {

/// A configuration file that nobody has named: its text, or why it is left out.
struct FoundFile {
  enum class State : uint8_t {
    absent,
    unreadable,  ///< we may not read it
    distrusted,  ///< somebody else could have written it
    read,
  };
  State state = State::absent;
  std::string text = {};  ///< of one that was read
  std::string why = {};   ///< of one that is unreadable or distrusted
};

/// Reads a file at a place where another user may have put one. Trusts a regular file that belongs
/// to this process's user or to root, and that nobody else may write; a link to it must belong to
/// one of them, too. Never waits for a FIFO. Fails for every other reason, and where the file is
/// larger than `bytes_max`.
Result<FoundFile> read_found_file(const std::string& path, size_t bytes_max);

}  // namespace dt

#pragma once

#include "launcher/protocol/task_error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The last traceback that a Python program has written to its stderr, read as it comes: how a
/// script that does not write TORCHELASTIC_ERROR_FILE says why it ends. Its time is that of its
/// first line: what the interpreter does between that and its end may take long, and tells peers
/// before.
class PythonTraceback {
 public:
  void add(std::string_view bytes, int64_t now_ns);
  /// What it says, if all of it has come.
  const std::optional<TaskError>& error() const { return error_; }
  /// Nothing has come after it.
  bool is_last() const { return error_ && is_last_; }

 private:
  void add_piece(std::string_view piece);
  void add_line(std::string_view line, int64_t now_ns);

  enum class Reading { other, ignored, frames };
  Reading reading_ = Reading::other;
  std::string partial_;  ///< the start of a line that has not ended
  TaskError open_;       ///< while its frames are read
  std::optional<TaskError> error_;
  bool is_last_ = false;
};

}  // namespace dt

#pragma once

#include "launcher/protocol/task_error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Finds the last traceback that a Python program writes to its stderr. It is the reason of a
/// failed script that does not write TORCHELASTIC_ERROR_FILE. Its time is that of its first line.
/// The interpreter may take long until its end, and peers may notice the failure before.
class PythonTraceback {
 public:
  void add(std::string_view bytes, int64_t now_ns);
  /// Returns the last whole traceback.
  const std::optional<TaskError>& error() const { return error_; }
  /// True if no line came after the traceback.
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

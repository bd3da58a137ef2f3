#pragma once

#include "base/wall_time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The failure that a task itself reports. It comes from a Python traceback, or from the file that
/// TORCHELASTIC_ERROR_FILE names. PyTorch writes that file for a function with @record.
struct TaskError {
  std::string message;  ///< "ValueError: no such batch"; may have several lines
  std::string frame;    ///< "/home/me/train.py:12", where it was raised; empty: unknown
  /// Since 1970; by the host's clock until the launcher converts it to its own. 0: unknown.
  int64_t when_ns = 0;
  bool operator==(const TaskError&) const = default;

  /// One short line for the user.
  std::string text() const;
};

/// Returns where a Python error was raised: "/a/b.py:12" from the last line of the traceback like
/// `  File "/a/b.py", line 12, in f`. Empty if there is no such line.
std::string python_frame(std::string_view callstack);

/// Reads such a file's text; none for any other text. `written_ns` is the file's modification time.
/// It replaces the time in the text, which has whole seconds, when both agree. A copied file has a
/// later time.
std::optional<TaskError> parse_task_error(std::string_view json, int64_t written_ns = 0);

}  // namespace dt

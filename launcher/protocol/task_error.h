#pragma once

#include "base/wall_time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Why a task failed, as it has said itself: in the file that TORCHELASTIC_ERROR_FILE names, which
/// PyTorch writes for a function with @record, or in a traceback.
struct TaskError {
  std::string message;  ///< "ValueError: no such batch"; may have several lines
  std::string frame;    ///< "/home/me/train.py:12", where it was raised; empty: unknown
  int64_t when_ns = 0;  ///< since 1970 by its host's clock, in the launcher by its own; 0: unknown
  bool operator==(const TaskError&) const = default;

  /// In one short line, for people.
  std::string text() const;
};

/// "/a/b.py:12" of the last line `  File "/a/b.py", line 12, in f`, as Python shows its frames:
/// where an error was raised. Empty if there is none.
std::string python_frame(std::string_view callstack);

/// Of such a file's text; none of anything else. `written_ns` is when it was written: more exact
/// than the time in it, which has whole seconds, but not true of a copy.
std::optional<TaskError> parse_task_error(std::string_view json, int64_t written_ns = 0);

}  // namespace dt

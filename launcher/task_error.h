#pragma once

#include "base/wall_time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// Why a task failed, as it has said itself in the file that TORCHELASTIC_ERROR_FILE names. PyTorch
/// writes one for a function with @record.
struct TaskError {
  std::string message;  ///< "ValueError: no such batch"; may have several lines
  std::string frame;    ///< "/home/me/train.py:12", where it was raised; empty: unknown
  int64_t when_ns = 0;  ///< since 1970, by the clock of its host; 0: unknown
  bool operator==(const TaskError&) const = default;

  /// In one short line, for people.
  std::string text() const;
};

/// Of such a file's text; none of anything else. `written_ns` is when it was written: more exact
/// than the time in it, which has whole seconds, but not true of a copy.
std::optional<TaskError> parse_task_error(std::string_view json, int64_t written_ns = 0);

}  // namespace dt

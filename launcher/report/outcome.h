#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "launcher/protocol/task_error.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

/// The first failure of a job. It is reported once.
struct Failure {
  TaskId task;
  int rank = -1;
  std::string host;
  int64_t pid = 0;  ///< 0: it never started
  std::string cause;
  std::optional<TaskError> error = {};  ///< written by the task itself
  bool operator==(const Failure&) const = default;
};

/// How the job ended.
struct Outcome {
  int exit_status = 0;
  std::optional<Failure> failure;  ///< of a task
  /// Why the job ended without a failure: "interrupted by SIGINT", "time limit of 10s reached".
  std::string reason;
  int failed_tasks = 0;
  bool host_lost = false;        ///< with tasks that ran, whatever decided
  bool reason_reported = false;  ///< the user has seen `reason` before the end
  bool operator==(const Outcome&) const = default;
};

/// Output that was asked for and lost is a failure of a job that ended well. `lost` is why it was
/// lost: its reader has gone (Errc::closed), or what could not be written, as in "cannot write x".
void count_lost_output(Outcome& outcome, const Error& lost);
inline constexpr std::string_view reader_gone_text =
    "the reader of standard output has gone; --on-lost-output continue runs the job without it";

/// Returns the outcome of a job that a signal to dtrain ended.
Outcome interrupted_outcome(int number);

/// Returns the outcome of a job that was to run until a signal (--success never).
Outcome stopped_outcome(int number);

inline constexpr int status_time_limit = 124;
/// Returns the outcome of a job that --timeout ended.
Outcome time_limit_outcome(Duration limit);

}  // namespace dt

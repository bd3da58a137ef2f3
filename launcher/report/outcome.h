#pragma once

#include "launcher/protocol/task_error.h"
#include "rendezvous/cluster/task.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dt {

/// The first thing that went wrong, for the report: said once.
struct Failure {
  TaskId task;
  int rank = -1;
  std::string host;
  int64_t pid = 0;  ///< 0: it never started
  std::string cause;
  std::optional<TaskError> error = {};  ///< by its own word
  bool operator==(const Failure&) const = default;
};

/// How the job ended.
struct Outcome {
  int exit_status = 0;
  std::optional<Failure> failure;  ///< of a worker
  std::string
      reason;  ///< otherwise why it ended: "interrupted by SIGINT", "time limit of 10s reached"
  int failed_tasks = 0;
  bool reason_reported = false;  ///< to the user, before the end
  bool operator==(const Outcome&) const = default;
};

/// Of a job that a signal to dtrain ended.
Outcome interrupted_outcome(int number);

}  // namespace dt

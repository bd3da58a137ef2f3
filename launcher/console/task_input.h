#pragma once

#include "base/io/log.h"
#include "base/io/loop.h"
#include "launcher/config/config.h"
#include "launcher/console/input.h"
#include "launcher/plan/plan.h"

#include <functional>
#include <memory>
#include <vector>

namespace dt {

/// True for a task that gets dtrain's standard input.
bool wants_input(const Task& task, const StdinTarget& target);

/// Forwards dtrain's standard input to the tasks that --stdin names. A task's number is its index
/// in Plan::tasks.
class TaskInput {
 public:
  TaskInput(const Plan& plan, const StdinTarget& target);

  /// Starts to read, if a task wants the input. `send` is called with each chunk for each of these
  /// tasks; an empty chunk is the end.
  void open(Loop& loop, Log& log, const std::function<void(size_t task, ByteSpan bytes)>& send);
  /// Reports that the task has consumed so many bytes more.
  void taken(size_t task, uint32_t bytes);
  /// Reading no longer waits for this task.
  void task_ended(size_t task);
  /// All tasks start again. An input that has been read in part is not read again: the next
  /// generation gets an empty one, and `log` a line.
  void end_generation(Log& log) const;
  /// At the end of the job: warns of input that waits, unless --stdin was given.
  void warn_of_unread(Log& log) const;

 private:
  bool unsaid_;
  bool was_read_ = false;
  std::vector<size_t> readers_;
  std::unique_ptr<InputReader> source_;
};

}  // namespace dt

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

/// dtrain's standard input on its way to the tasks that --stdin names. Tasks are named by their
/// place in Plan::tasks.
class TaskInput {
 public:
  TaskInput(const Plan& plan, const StdinTarget& target);

  /// Starts to read, if anybody wants it. `send` gets each chunk for each reader; an empty one is
  /// the end.
  void open(Loop& loop, Log& log, const std::function<void(size_t task, ByteSpan bytes)>& send);
  /// The task has taken so many bytes more.
  void taken(size_t task, uint32_t bytes);
  void task_gone(size_t task);

 private:
  std::vector<size_t> readers_;
  std::unique_ptr<InputReader> source_;
};

}  // namespace dt

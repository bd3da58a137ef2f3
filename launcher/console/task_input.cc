#include "launcher/console/task_input.h"

#include "base/io/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace dt {

bool wants_input(const Task& task, const StdinTarget& target) {
  return target.kind == StdinTarget::Kind::all ||
         (target.kind == StdinTarget::Kind::rank && target.rank == task.rank);
}

TaskInput::TaskInput(const Plan& plan, const StdinTarget& target)
    : unsaid_(target.kind == StdinTarget::Kind::unsaid) {
  for (size_t task = 0; task < plan.tasks.size(); ++task) {
    if (wants_input(plan.tasks[task], target)) readers_.push_back(task);
  }
}

void TaskInput::open(Loop& loop, Log& log,
                     const std::function<void(size_t task, ByteSpan bytes)>& send) {
  if (readers_.empty()) return;
  const auto send_all = [this, send](ByteSpan bytes) {
    was_read_ = was_read_ || !bytes.empty();
    for (const size_t task : readers_)
      send(task, bytes);
  };
  auto source = InputReader::open(loop, STDIN_FILENO, readers_.size(),
                                  {.on_bytes = send_all, .on_end = [send_all] { send_all({}); }});
  if (source) {
    source_ = *std::move(source);
  } else {
    log.warn("standard input cannot be read: {}", source.error().message);
    send_all({});
  }
}

void TaskInput::taken(size_t task, uint32_t bytes) {
  const auto reader = std::ranges::find(readers_, task);
  if (!source_ || reader == readers_.end()) return;
  source_->taken(static_cast<size_t>(reader - readers_.begin()), bytes);
}

void TaskInput::end_generation(Log& log) const {
  if (!was_read_) return;
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (nothing) ::dup2(nothing.get(), STDIN_FILENO);
  log.print("standard input was read before the restart: from now on it is empty");
}

void TaskInput::warn_of_unread(Log& log) const {
  if (!unsaid_ || !has_unread(STDIN_FILENO)) return;
  log.warn("standard input was not read; --stdin 0 gives it to rank 0, and --stdin none is silent");
}

void TaskInput::task_ended(size_t task) {
  const auto reader = std::ranges::find(readers_, task);
  if (!source_ || reader == readers_.end()) return;
  source_->reader_ended(static_cast<size_t>(reader - readers_.begin()));
}

}  // namespace dt

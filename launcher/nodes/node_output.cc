#include "launcher/nodes/node_output.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace dt {

namespace {

/// More output than this waits for its reader only at the tasks.
constexpr size_t unwritten_max = size_t{1} << 20;

/// The tasks of this node, as their output needs them.
Plan plan_of(const Launch& wanted) {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "localhost", .here = true}});
  for (const TaskLaunch& task : wanted.tasks) {
    const auto index = static_cast<uint32_t>(plan.tasks.size());
    plan.add(
        {.id = task.id, .rank = task.rank, .local_rank = task.local_rank, .local_index = index});
  }
  return plan;
}

}  // namespace

Result<> NodeOutput::begin(const Launch& wanted) {
  const Plan plan = plan_of(wanted);
  tasks_ = plan.tasks;
  if (output_) return output_->begin_generation(plan, "");
  TaskOutput::Options options = options_;
  options.loop = &parts_.loop;
  options.merged = wanted.merge_stderr;
  output_ = TRY(TaskOutput::open(plan, std::move(options), parts_.out, parts_.err, parts_.log));
  return {};
}

void NodeOutput::restarted(const TaskId& task) {
  const auto found = std::ranges::find(tasks_, task, &Task::id);
  if (found != tasks_.end()) output_->restarted(static_cast<size_t>(found - tasks_.begin()));
}

std::optional<StreamId> NodeOutput::printed(uint32_t stream) const {
  const std::optional<StreamId> id = StreamId::parse(stream);
  if (!id || id->local_index >= tasks_.size()) return std::nullopt;
  return id;
}

void NodeOutput::add(uint32_t stream, ByteSpan bytes) {
  const auto id = printed(stream);
  if (!id || id->stream == TaskStream::result) return;
  if (unread_) return drop(stream, bytes.size());
  std::string text(as_text(bytes));
  // The line that lacks its end gets a mark, and the rest of another one is dropped.
  if (cut_.erase(stream) > 0)
    text = "…\n" + text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  unwritten_ += bytes.size();
  output_->add(id->local_index, id->stream, as_bytes(text),
               [this, stream, size = bytes.size()] { written(stream, size); });
  if (is_full() && !patience_timer_) watch();
}

void NodeOutput::end(uint32_t stream) {
  if (const auto id = printed(stream)) output_->end(id->local_index, id->stream);
}

bool NodeOutput::is_full() const {
  return unwritten_ > unwritten_max && !unread_;
}

void NodeOutput::close() {
  is_closed_ = true;
  watch();
}

void NodeOutput::written(uint32_t stream, size_t bytes) {
  unwritten_ -= bytes;
  if (unwritten_ == 0 && unread_) {
    unread_ = false;
    if (dropped_ > 0)
      parts_.log.warn("{} bytes of the output of this node are not shown here; node 0 has them",
                      std::exchange(dropped_, 0));
  }
  watch();
  events_.on_taken(stream, bytes);
  if (!is_full()) events_.on_room();
}

/// The patience begins anew with each chunk that the reader has taken.
void NodeOutput::watch() {
  const bool is_awaited = is_full() || (is_closed_ && waits());
  patience_timer_ = is_awaited ? parts_.loop.after(patience_, [this] { lose_reader(); }) : Timer();
}

void NodeOutput::lose_reader() {
  unread_ = true;
  parts_.log.warn(
      "nobody has read the output of this node for {}: more of it is not shown here until that is "
      "read; node 0 has all of it",
      duration_text(patience_));
  events_.on_room();
}

void NodeOutput::drop(uint32_t stream, size_t bytes) {
  dropped_ += bytes;
  cut_.insert(stream);
  events_.on_taken(stream, bytes);
  events_.on_room();
}

}  // namespace dt

#include "comm/training/ps/task_connections.h"

#include <algorithm>

namespace dt {

bool TaskConnections::make_room(uint32_t task, uint32_t attempt) {
  const bool ended = std::ranges::any_of(all_, [&](const TaskConnection& known) {
    return known.task == task && known.attempt > attempt;
  });
  if (ended) return false;
  size_t without_part = 0;
  for (auto at = all_.rbegin(); at != all_.rend(); ++at) {
    const bool waits = at->task == task && !at->part && at->connection;
    if (waits && ++without_part >= parts_) at->connection.reset();
  }
  remove_closed();
  return true;
}

void TaskConnections::add(TaskConnection added) {
  all_.push_back(std::move(added));
}

void TaskConnections::attach(TaskConnection& connection, uint32_t part) {
  connection.part = part;
  TaskConnection*& newest = attached_[{part, connection.task}];
  if (newest != nullptr) newest->connection.reset();
  newest = &connection;
}

void TaskConnections::close(TaskConnection& connection) {
  connection.connection.reset();
  if (!connection.part) return;
  const auto at = attached_.find({*connection.part, connection.task});
  if (at != attached_.end() && at->second == &connection) attached_.erase(at);
}

void TaskConnections::remove_closed() {
  std::erase_if(all_, [](const TaskConnection& known) { return known.connection == nullptr; });
}

TaskConnection* TaskConnections::find(uint32_t part, uint32_t task) {
  const auto at = attached_.find({part, task});
  return at == attached_.end() ? nullptr : at->second;
}

void TaskConnections::deliver(uint32_t part, PsDelivery delivery) {
  TaskConnection* const connection = find(part, delivery.worker);
  // A reply that waited for the replica may be of the attempt before.
  if (connection == nullptr || connection->attempt != delivery.attempt) return;
  MessageConnection& to = *connection->connection;
  if (!to.send(delivery.request, std::move(delivery.reply)) || !to.advance())
    return close(*connection);
  connection->ready = true;
}

bool TaskConnections::has_follower() const {
  return std::ranges::any_of(all_, &TaskConnection::follows);
}

void TaskConnections::collect_fds(std::vector<pollfd>& fds,
                                  std::vector<MessageConnection*>& waiting) const {
  for (const TaskConnection& known : all_) {
    fds.push_back(
        {.fd = known.connection->fd(), .events = known.connection->events(), .revents = 0});
    waiting.push_back(known.connection.get());
  }
}

void TaskConnections::take_events(std::span<const pollfd> fds) {
  size_t at = 0;
  for (TaskConnection& known : all_) {
    const bool event = fds[at++].revents != 0;
    known.ready = event || known.connection->changed() || known.ready;
  }
}

bool TaskConnections::any_ready() const {
  return std::ranges::any_of(all_, &TaskConnection::ready);
}

Time TaskConnections::free_unused_memory(Time now) {
  Time next = Time::max();
  for (TaskConnection& known : all_)
    next = std::min(next, known.connection->free_unused_memory(now));
  return next;
}

}  // namespace dt

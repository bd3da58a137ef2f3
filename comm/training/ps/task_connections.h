#pragma once

#include "base/clock.h"
#include "comm/peer/message_connection.h"
#include "comm/training/ps/state/server_state.h"
#include "rendezvous/cluster/task.h"

#include <poll.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dt {

/// A connection of a task to a parameter server.
struct TaskConnection {
  uint32_t task = 0;
  std::unique_ptr<MessageConnection> connection;  ///< null: closed
  bool follows = false;                           ///< it is the server before this one
  uint32_t attempt = first_attempt;               ///< of the task
  uint64_t acknowledged = 0;                      ///< the last of its inputs
  uint32_t last_message = 0;                      ///< to it
  std::optional<uint32_t> part = {};              ///< after its first request
  /// The first request, for a part whose server lives.
  std::optional<MessageConnection::Received> early = {};
  bool ready = true;
};

/// The connections of tasks to a parameter server. The newest one of a task counts: for each part,
/// and while it has no part.
class TaskConnections {
 public:
  /// `parts`: of this server. A task without a part may have one connection for each.
  explicit TaskConnections(size_t parts) : parts_(parts) {}

  /// Closes the connections that a new one of the task replaces. Returns false when the new one is
  /// of an attempt that has ended.
  bool make_room(uint32_t task, uint32_t attempt);
  void add(TaskConnection added);
  /// Gives the connection its part. Closes the one that the task had for this part before.
  void attach(TaskConnection& connection, uint32_t part);
  void close(TaskConnection& connection);
  /// Forgets those that are closed. References to them end.
  void remove_closed();
  /// The open connection of the task for the part, or null.
  TaskConnection* find(uint32_t part, uint32_t task);
  bool has_follower() const;
  /// Sends the reply to a request for the part, unless its connection is closed. Never blocks.
  void deliver(uint32_t part, PsDelivery delivery);

  /// Appends what poll(2) waits for.
  void collect_fds(std::vector<pollfd>& fds, std::vector<MessageConnection*>& waiting) const;
  /// Takes the events of the descriptors that collect_fds() appended last.
  void take_events(std::span<const pollfd> fds);
  /// True when one can be advanced without an event.
  bool any_ready() const;
  /// Returns when to call it again.
  Time free_unused_memory(Time now);

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  size_t parts_;
  std::list<TaskConnection> all_;                                      ///< the oldest first
  std::map<std::pair<uint32_t, uint32_t>, TaskConnection*> attached_;  ///< by part and task
};

}  // namespace dt

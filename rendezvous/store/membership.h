#pragma once

#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dt {

/// A connection that proved the token; never used twice.
using ClientId = uint64_t;

/// Which tasks of one generation are connected, and which are gone for good.
///
///   absent ─ join ─▶ joined ─ disconnect ─▶ absent      absent | joined ─ note ─▶ dead | left
class Membership {
 public:
  explicit Membership(TaskTable table);

  /// The client is this task from now on. Errc::refused when the task is taken, unknown or gone.
  Result<> join(const TaskId& task, ClientId client, int64_t pid);
  /// The client's connection ended; its task may join again unless it is gone.
  void disconnect(ClientId client);
  /// A task died or left. False when that was known: the first word stands.
  bool note(const Notice& notice);

  enum class State : uint8_t { unknown, absent, joined, dead, left };
  State state(const TaskId& task) const;
  /// Why it is gone, in words: "worker:2 (host node2) died: killed by SIGKILL".
  std::string gone_text(const TaskId& task) const;
  /// "worker:2 (host node2)".
  std::string task_text(const TaskId& task) const;
  /// The task that this client is.
  const TaskId& task_of(ClientId client) const;
  size_t joined() const { return clients_.size(); }
  const TaskTable& table() const { return table_; }
  /// The dead and left, in the order in which they were noted.
  const std::vector<Notice>& gone() const { return gone_; }

 private:
  struct Member {
    State state = State::absent;
    std::string host;
    ClientId client = 0;
    int64_t pid = 0;
    std::string cause;
  };
  const Member* find(const TaskId& task) const;
  std::string roles_text() const;

  TaskTable table_;
  std::map<TaskId, Member> members_;
  std::map<ClientId, TaskId> clients_;
  std::vector<Notice> gone_;
};

}  // namespace dt

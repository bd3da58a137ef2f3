#pragma once

#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dt {

/// The id of a connection that proved the token; never used twice.
using ClientId = uint64_t;

/// The connected tasks of one generation, and the tasks that are gone. A dead task returns when the
/// launcher restarts it. Its attempt counts from then on, and no earlier one.
///
///   absent ─ join ─▶ joined ─ disconnect ─▶ absent      absent | joined ─ note ─▶ dead | left
///                                                       dead ─ note restarted ─▶ absent
class Membership {
 public:
  explicit Membership(TaskTable table);

  /// Assigns the task to the client. Fails with Errc::refused when the task is taken, unknown or
  /// gone, and when this is not its attempt now.
  Result<> join(const TaskId& task, ClientId client, int64_t pid, uint32_t attempt = first_attempt);
  /// Called when the client's connection has ended; its task may join again unless it is gone.
  void disconnect(ClientId client);
  /// Records that a task died, left or was restarted. Returns false for news that change nothing.
  /// When a task is gone already, the first notice counts, but a dead task may lose its return.
  bool note(const Notice& notice);

  enum class State : uint8_t { unknown, absent, joined, dead, left };
  State state(const TaskId& task) const;
  /// Returns the reason of its end: "worker:2 (host node2) died: killed by SIGKILL".
  std::string gone_text(const TaskId& task) const;
  /// Returns "worker:2 (host node2)".
  std::string task_text(const TaskId& task) const;
  /// Returns the pid of a joined task's process, as that process sees it; 0 for other tasks.
  int64_t pid_of(const TaskId& task) const;
  /// Returns the task of a client.
  const TaskId& task_of(ClientId client) const { return clients_.at(client).task; }
  /// Fails with Errc::refused when the client's task has been restarted since it joined.
  Result<> check_current(ClientId client) const;
  size_t joined() const { return clients_.size(); }
  const TaskTable& table() const { return table_; }
  /// The deaths, departures and restarts of tasks, in the order of note(): of a task that was
  /// restarted, its first death and its last attempt.
  const std::vector<Notice>& gone() const { return gone_; }

 private:
  struct Member {
    State state = State::absent;
    std::string host;
    ClientId client = 0;
    int64_t pid = 0;
    std::string cause;
    uint32_t attempt = first_attempt;
    bool returns = false;  ///< dead: the launcher will restart it
  };
  struct Client {
    TaskId task;
    uint32_t attempt = first_attempt;
  };
  const Member* find(const TaskId& task) const;
  static bool changes(const Member& member, const Notice& notice);
  std::string roles_text() const;

  TaskTable table_;
  std::map<TaskId, Member> members_;
  std::map<ClientId, Client> clients_;
  std::vector<Notice> gone_;
};

}  // namespace dt

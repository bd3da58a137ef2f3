#pragma once

#include "base/clock.h"
#include "comm/peer/message_connection.h"
#include "rendezvous/cluster/task.h"

#include <poll.h>

#include <cstddef>
#include <span>

namespace dt {

/// Waits for descriptors as poll(2) does, and for connections through shared memory. A message
/// within a host takes less time than a sleeping thread needs to wake up. So this thread stays
/// awake for a moment after each request. It does not where the tasks of its host share cores.
class SpinPoll {
 public:
  static constexpr Duration awake_for = std::chrono::microseconds(50);

  /// For a task on the host of that agent.
  SpinPoll(const TaskTable& job, int agent);
  /// For a host with so many tasks, and a process that may run on so many cores.
  SpinPoll(size_t tasks, size_t cores) : stays_awake_(tasks <= cores) {}

  bool stays_awake() const { return stays_awake_; }
  /// Called when a request was sent or received: waits do not sleep for a moment.
  void note_request() { awake_until_ = Clock::now() + awake_for; }
  /// Returns what poll(2) returns. Sleeps at most until `deadline`, and not while one of the
  /// connections has changed. The doorbell that their peers ring is among the descriptors.
  int wait(std::span<pollfd> fds, std::span<MessageConnection* const> connections,
           Time deadline) const;

 private:
  bool stays_awake_;
  Time awake_until_ = Time::min();
};

}  // namespace dt

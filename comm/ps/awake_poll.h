#pragma once

#include "base/clock.h"
#include "rendezvous/cluster/task.h"

#include <poll.h>

#include <cstddef>
#include <span>

namespace dt {

/// Waits for descriptors as poll(2) does. A message within a host takes less time than a sleeping
/// thread needs to wake up. So this thread first stays awake for a moment, where the host has a
/// core for each of its tasks.
class AwakePoll {
 public:
  static constexpr Duration awake_for = std::chrono::microseconds(50);

  /// For a task on the host of that agent.
  AwakePoll(const TaskTable& job, int agent);
  /// For a host with so many tasks and cores.
  AwakePoll(size_t tasks, size_t cores) : stays_awake_(tasks <= cores) {}

  bool stays_awake() const { return stays_awake_; }
  /// Returns what poll(2) returns. Sleeps at most until `deadline`.
  int wait(std::span<pollfd> fds, Time deadline) const;

 private:
  bool stays_awake_;
};

}  // namespace dt

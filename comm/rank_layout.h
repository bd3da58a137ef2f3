#pragma once

#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <string>

namespace dt {

/// Where one ranked task stands among the others.
struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of its host
  int local_size = 1;
  int cross_rank = 0;  ///< its host's place among the hosts that have this local rank
  int cross_size = 1;
  std::string host;
  bool operator==(const Placement&) const = default;
};

/// Errc::input if the task has no rank, Errc::protocol if the table's ranks have holes.
Result<Placement> place(const TaskTable& table, const TaskEntry& self);

}  // namespace dt

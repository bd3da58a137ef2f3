#pragma once

#include "base/result.h"
#include "rendezvous/cluster/task.h"

#include <string>

namespace dt {

/// The position of one ranked task among the others.
struct RankLayout {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of its host
  int local_size = 1;
  int cross_rank = 0;  ///< the index of its host among the hosts that have this local rank
  int cross_size = 1;
  std::string host;
  bool operator==(const RankLayout&) const = default;
};

/// Fails with Errc::input if the task has no rank, with Errc::protocol if the table lacks a rank.
Result<RankLayout> rank_layout(const TaskTable& table, const TaskEntry& self);

}  // namespace dt

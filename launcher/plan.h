#pragma once

#include "base/result.h"
#include "launcher/hosts.h"
#include "rendezvous/task.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

inline constexpr int processes_max = 65536;

/// A group of equal processes that were asked for.
struct Role {
  std::string name = "worker";
  int count = 0;
  bool operator==(const Role&) const = default;
};

/// A process and its place. Ranks and sizes are over ranked tasks.
struct Task {
  TaskId id;
  int rank = -1;
  int local_rank = -1;
  int cross_rank = -1;
  int cross_size = 0;  ///< hosts that have this local rank
  int agent = 0;       ///< index into Plan::hosts
  bool operator==(const Task&) const = default;
};

/// A host that takes part, with its place in the agents' order.
struct PlannedHost {
  Host host;
  int first_task = 0;  ///< its tasks are tasks[first_task, first_task + task_count)
  int task_count = 0;
  bool operator==(const PlannedHost&) const = default;
};

/// Who runs where. A value: made once, compared, printed.
struct Plan {
  std::vector<PlannedHost> hosts;  ///< index = agent number
  std::vector<Task> tasks;         ///< in rank order; tasks without rank after them
  int world_size = 0;

  int local_size(const Task& task) const {
    return hosts[static_cast<size_t>(task.agent)].task_count;
  }
  /// Digits of the highest rank: how wide NN is in rank.NN.
  int rank_digits() const;
  bool operator==(const Plan&) const = default;
};

struct PlanRequest {
  std::vector<Host> hosts;                ///< slots all known (> 0)
  std::optional<int> process_count = {};  ///< -np; none: the sum of slots
  bool oversubscribe = false;             ///< more processes than slots, in equal blocks a host
};

/// Fills one host before the next, in the order given; a host that gets no task is left out.
/// With more processes than slots and `oversubscribe`, every host gets its share of the processes
/// in proportion to its slots (never fewer than its slots), and what rounding leaves over goes to
/// the largest remainders, the first named first: hosts of equal slots get equal blocks. A host
/// takes max_slots at most; what it would have had above them goes to the others in the same way.
Result<Plan> make_plan(const PlanRequest& request);

}  // namespace dt

#include "comm/rank_layout.h"

#include "base/format.h"

#include <map>

namespace dt {

Result<Placement> place(const TaskTable& table, const TaskEntry& self) {
  if (self.rank < 0) {
    return fail(Errc::input,
                format("{} has no rank in this job, and collectives need one", self.id.text()));
  }
  Placement placement{.rank = self.rank, .size = table.world_size(), .host = self.host};
  // Hosts in the order of their first rank, which is the order in which ranks fill them.
  std::vector<int> hosts;
  std::map<int, int> local_sizes;
  for (int rank = 0; rank < placement.size; ++rank) {
    const TaskEntry* task = table.by_rank(rank);
    if (task == nullptr) {
      return fail(Errc::protocol,
                  format("the job has {} ranks, but no rank {}", placement.size, rank));
    }
    if (rank == self.rank) placement.local_rank = local_sizes[task->agent];
    if (local_sizes[task->agent]++ == 0) hosts.push_back(task->agent);
  }
  placement.local_size = local_sizes[self.agent];
  placement.cross_size = 0;
  for (const int host : hosts) {
    if (local_sizes[host] <= placement.local_rank) continue;
    if (host == self.agent) placement.cross_rank = placement.cross_size;
    ++placement.cross_size;
  }
  return placement;
}

}  // namespace dt

#include "comm/api/rank_layout.h"

#include "base/format.h"

#include <map>

namespace dt {

Result<RankLayout> rank_layout(const TaskTable& table, const TaskEntry& self) {
  if (self.rank < 0) {
    return fail(Errc::input,
                format("{} has no rank in this job, and collectives need one; a parameter server "
                       "calls dtrain_ps_serve instead of dtrain_init",
                       self.id.text()));
  }
  RankLayout layout{.rank = self.rank, .size = table.world_size(), .host = self.host};
  // Hosts in the order of their lowest rank.
  std::vector<int> hosts;
  std::map<int, int> local_sizes;
  for (int rank = 0; rank < layout.size; ++rank) {
    const TaskEntry* task = table.by_rank(rank);
    if (task == nullptr) {
      return fail(Errc::protocol,
                  format("the job has {} ranks, but no rank {}", layout.size, rank));
    }
    if (rank == self.rank) layout.local_rank = local_sizes[task->agent];
    if (local_sizes[task->agent]++ == 0) hosts.push_back(task->agent);
  }
  layout.local_size = local_sizes[self.agent];
  layout.cross_size = 0;
  for (const int host : hosts) {
    if (local_sizes[host] <= layout.local_rank) continue;
    if (host == self.agent) layout.cross_rank = layout.cross_size;
    ++layout.cross_size;
  }
  return layout;
}

}  // namespace dt

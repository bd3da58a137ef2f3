#include "comm/api/rank_layout.h"

#include "base/format.h"

#include <map>

namespace dt {

Result<RankLayout> rank_layout(const TaskTable& table, const TaskEntry& self) {
  if (self.rank < 0) {
    const std::string remedy =
        self.id.role == "ps" ? "add --strategy parameter_server: dtrain's own server then runs "
                               "for the role ps"
                             : format("--role-ranked {} gives its role ranks", self.id.role);
    return fail(Errc::input, format("{} has no rank in this job, so it cannot train; {}",
                                    self.id.text(), remedy));
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

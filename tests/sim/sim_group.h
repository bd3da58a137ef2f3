#pragma once

#include "tests/sim/random.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace dt {

/// A group of ranks of a simulated job. The first one of a plan has all ranks.
struct SimGroup {
  uint32_t number = 0;
  std::vector<int> ranks = {};  ///< the job's rank of each member

  int size() const { return static_cast<int>(ranks.size()); }
  int job_rank(int rank) const { return ranks[static_cast<size_t>(rank)]; }
  /// Returns -1 for a rank of the job that is no member.
  int rank_of(int job_rank) const {
    const auto found = std::find(ranks.begin(), ranks.end(), job_rank);
    return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
  }
  bool has(int job_rank) const { return rank_of(job_rank) >= 0; }
};

/// Returns the group of all ranks and up to three others, with random members in random order. A
/// number is the lowest that is new to all members, so groups without common members may share it.
inline std::vector<SimGroup> random_groups(Random& random, int size) {
  std::vector<SimGroup> groups(1);
  groups[0].ranks.resize(static_cast<size_t>(size));
  std::iota(groups[0].ranks.begin(), groups[0].ranks.end(), 0);
  std::vector<uint32_t> next_number(static_cast<size_t>(size), 1);
  const size_t others = random.below(4);
  for (size_t made = 0; made < others; ++made) {
    // Two groups with the same members must not mix their frames.
    SimGroup group{.ranks = random.percent(30) ? groups.back().ranks : groups[0].ranks};
    for (size_t i = group.ranks.size(); i > 1; --i)
      std::swap(group.ranks[i - 1], group.ranks[random.below(i)]);
    if (random.percent(70)) group.ranks.resize(1 + random.below(group.ranks.size()));
    for (const int rank : group.ranks)
      group.number = std::max(group.number, next_number[static_cast<size_t>(rank)]);
    for (const int rank : group.ranks)
      next_number[static_cast<size_t>(rank)] = group.number + 1;
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace dt

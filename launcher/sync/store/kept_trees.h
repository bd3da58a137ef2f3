#pragma once

#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/sync/store/locked_file.h"
#include "launcher/sync/store/site_place.h"
#include "launcher/sync/store/tree_lock.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// A whole tree below a store.
struct KeptTree {
  std::string path;
  uint64_t bytes = 0;
  WallClock::time_point last_use = {};
  bool in_use = false;  ///< a running job has it
};

/// Returns the trees below a store, oldest first.
std::vector<KeptTree> list_kept_trees(const std::string& store);

/// The bounds of trees that jobs have left.
struct TreeBounds {
  std::chrono::hours age = std::chrono::hours(7 * 24);
  uint64_t bytes = uint64_t{10} << 30;
};

/// Removes trees that are older, and the oldest while all have more bytes. Removes the leftovers of
/// killed jobs after a day. Leaves trees of running jobs.
void prune_trees(const std::string& store, WallClock::time_point now, const TreeBounds& bounds);

/// How much was removed from a store.
struct ClearedTrees {
  size_t trees = 0;
  uint64_t bytes = 0;
  size_t in_use = 0;  ///< trees that running jobs have, which stay
};

/// Removes all trees below a store, but those of running jobs.
Result<ClearedTrees> clear_trees(const std::string& store);

/// Counts or removes trees that killed jobs have begun to make or to remove.
Leftovers unfinished_trees(const std::string& store, LeftoverWork work, WallClock::time_point now);

/// Removes a tree whose lock this process has, and its records. Releases the lock.
Result<> remove_site(const SitePlace& place, TreeLock& lock);
/// Notes that a job has left its tree, and the size.
Result<> write_left_size(const SitePlace& place, uint64_t bytes);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "base/wall_time.h"
#include "launcher/sync/store/locked_file.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// A setup's folder below a store.
struct KeptSetup {
  std::string path;  ///< DTRAIN_SETUP_DIR
  uint64_t bytes = 0;
  WallClock::time_point last_use = {};
  bool in_use = false;  ///< a running job or a setup has it
};

/// Returns the setups below a store, oldest first.
std::vector<KeptSetup> list_kept_setups(const std::string& store);

/// How much was removed from a store.
struct ClearedSetups {
  size_t setups = 0;
  uint64_t bytes = 0;
  size_t in_use = 0;  ///< setups that running jobs have, which stay
};

/// Removes all setups below a store, but those of running jobs.
Result<ClearedSetups> clear_setups(const std::string& store);

/// Counts or removes locks and records without a folder, which killed jobs have left.
Leftovers unfinished_setups(const std::string& store, LeftoverWork work);

/// Removes setups that no job has used for this time. Leaves what it cannot remove.
void prune_setups(const std::string& store, WallClock::time_point now,
                  std::chrono::hours unused = std::chrono::hours(30 * 24));

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/sync/store/tree_index.h"

#include <cstdint>
#include <string>

namespace dt {

/// How tasks have used a tree.
struct TreeUse {
  bool written =
      false;           ///< a file or link is new, changed or missing; `__pycache__` does not count
  uint64_t bytes = 0;  ///< of all files
};

/// Compares all files below an open folder with those that dtrain has put there.
Result<TreeUse> read_tree_use(int root, const TreeIndex& index);

/// Returns the bytes of all files below a folder; 0 where it cannot be read.
uint64_t bytes_below(const std::string& folder);

}  // namespace dt

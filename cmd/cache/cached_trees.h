#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dt {

/// True if a folder of copies has a place for trees, objects or setups, too.
bool keeps_trees(const std::string& folder);

/// Returns a line for each tree and setup that jobs have left in a folder, and one for all objects.
std::string list_trees(const std::string& folder);
/// Removes them, but those of running jobs, and returns a line for each kind.
Result<std::string> clear_trees_and_objects(const std::string& folder);

/// One line of a list: the size, the state, and the path.
struct CacheLine {
  uint64_t bytes = 0;
  std::string_view state;
  std::string_view path;
};
std::string cache_line(const CacheLine& line);
std::string megabytes(uint64_t bytes);

}  // namespace dt

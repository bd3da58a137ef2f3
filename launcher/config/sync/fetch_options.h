#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// --fetch: files that come back from the tree of rank 0 when the job ends.
struct FetchOptions {
  std::vector<std::string> patterns;   ///< of paths below the tree; never empty
  std::optional<std::string> to = {};  ///< --fetch-to; none: to the same place in the original
  bool operator==(const FetchOptions&) const = default;
};

}  // namespace dt

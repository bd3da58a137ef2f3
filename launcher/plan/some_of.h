#pragma once

#include "base/format.h"
#include "base/text.h"

#include <span>
#include <string>
#include <vector>

namespace dt {

/// "a, b, c and 5 more".
inline std::string some_of(const std::vector<std::string>& names, size_t shown_max = 8) {
  if (names.size() <= shown_max) return join(names, ", ");
  return format("{} and {} more", join(std::span(names).first(shown_max), ", "),
                names.size() - shown_max);
}

}  // namespace dt

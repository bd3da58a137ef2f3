#include "comm/schedule/schedule.h"

#include <algorithm>

namespace dt {

Range part_range(size_t count, int part, int size) {
  const auto parts = static_cast<size_t>(size);
  const auto index = static_cast<size_t>(part);
  const size_t each = count / parts;
  const size_t longer = count % parts;  // the first ones hold one more
  const size_t begin = index * each + std::min(index, longer);
  return {begin, begin + each + (index < longer ? 1 : 0)};
}

}  // namespace dt

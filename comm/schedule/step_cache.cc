#include "comm/schedule/step_cache.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace dt {

const Steps& StepCache::steps(const CollectiveShape& shape, Algorithm algorithm) {
  const auto found = std::ranges::find_if(calls_, [&](const Call& call) {
    return !call.steps.empty() && call.algorithm == algorithm && call.shape == shape;
  });
  if (found != calls_.end()) return found->steps;
  std::optional<Steps> made = steps_of(group_, shape, algorithm);
  assert(made);
  if (made->empty() || made->size() > steps_max) return uncached_ = std::move(*made);
  Call& call = calls_[oldest_];
  oldest_ = (oldest_ + 1) % calls_max;
  call = {shape, algorithm, std::move(*made)};
  return call.steps;
}

}  // namespace dt

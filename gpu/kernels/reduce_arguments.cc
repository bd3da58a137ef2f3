#include "gpu/kernels/reduce_arguments.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

namespace {

/// Returns the first element at which all arrays are aligned for vectors of 16 bytes, or the count.
size_t head_of(const ArrayReduction& reduction) {
  const size_t bytes = element_bytes(reduction.type);
  const size_t width = sizeof(Chunk) / bytes;
  for (size_t head = 0; head < width && head < reduction.count; ++head) {
    const auto is_aligned = [&](const std::byte* array) {
      return (reinterpret_cast<uintptr_t>(array) + head * bytes) % sizeof(Chunk) == 0;
    };
    if (is_aligned(reduction.into) && std::ranges::all_of(reduction.sources, is_aligned) &&
        std::ranges::all_of(reduction.also, is_aligned))
      return head;
  }
  return reduction.count;
}

}  // namespace

Result<ReduceArguments> reduce_arguments(const ArrayReduction& reduction) {
  const size_t arrays = reduction.sources.size();
  if (arrays > reduce_arrays_max) {
    return fail(Errc::unsupported, format("cannot reduce: a kernel takes at most {} arrays, not {}",
                                          reduce_arrays_max, arrays));
  }
  static_assert(reduce_also_max + 1 == reduction_results_max);
  if (reduction.also.size() > reduce_also_max) {
    return fail(Errc::unsupported,
                format("cannot reduce: a kernel writes at most {} results, not {}",
                       reduction_results_max, reduction.also.size() + 1));
  }
  ReduceArguments arguments;
  std::ranges::copy(reduction.sources, arguments.arrays);
  arguments.into = reduction.into;
  std::ranges::copy(reduction.also, arguments.also);
  arguments.also_count = static_cast<int>(reduction.also.size());
  arguments.count = reduction.count;
  arguments.head = head_of(reduction);
  arguments.array_count = static_cast<int>(arrays);
  const bool halves = reduction.order == FoldOrder::halves && arrays > 1;
  arguments.second_half = static_cast<int>(halves ? arrays / 2 : arrays);
  arguments.divisor = reduction.divisor;
  return arguments;
}

}  // namespace dt

#include "gpu/kernels/reduce_arguments.h"

#include "base/format.h"

#include <algorithm>

namespace dt {

namespace {

/// An array that the kernel accesses in vectors of 16 bytes.
struct WideArray {
  const std::byte* at;
  size_t element_bytes;
};

/// True when element `index` of the array is aligned.
bool is_aligned_at(const WideArray& array, size_t index) {
  return (reinterpret_cast<uintptr_t>(array.at) + index * array.element_bytes) % sizeof(Chunk) == 0;
}

std::vector<WideArray> arrays_of(const ArrayReduction& reduction) {
  const size_t bytes = element_bytes(reduction.type);
  const size_t wide_bytes = element_bytes(accumulator_type(reduction.type));
  std::vector<WideArray> arrays;
  for (const std::byte* const array : reduction.partials)
    arrays.push_back({array, wide_bytes});
  for (const std::byte* const array : reduction.sources)
    arrays.push_back({array, bytes});
  const size_t result_bytes = reduction.partial ? wide_bytes : bytes;
  arrays.push_back({reduction.into, result_bytes});
  for (const std::byte* const array : reduction.also)
    arrays.push_back({array, result_bytes});
  return arrays;
}

/// Returns the first element at which all arrays are aligned, or the count.
size_t head_of(const ArrayReduction& reduction) {
  const std::vector<WideArray> arrays = arrays_of(reduction);
  const size_t width = sizeof(Chunk) / element_bytes(reduction.type);
  for (size_t head = 0; head < width && head < reduction.count; ++head) {
    bool all = true;
    for (const WideArray& array : arrays)
      all = all && is_aligned_at(array, head);
    if (all) return head;
  }
  return reduction.count;
}

}  // namespace

Result<ReduceArguments> reduce_arguments(const ArrayReduction& reduction) {
  const size_t arrays = reduction.partials.size() + reduction.sources.size();
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
  size_t next = 0;
  for (const std::byte* const array : reduction.partials)
    arguments.arrays[next++] = array;
  for (const std::byte* const array : reduction.sources)
    arguments.arrays[next++] = array;
  arguments.into = reduction.into;
  std::ranges::copy(reduction.also, arguments.also);
  arguments.also_count = static_cast<int>(reduction.also.size());
  arguments.count = reduction.count;
  arguments.head = head_of(reduction);
  arguments.array_count = static_cast<int>(arrays);
  arguments.partial_count = static_cast<int>(reduction.partials.size());
  const bool halves = reduction.order == FoldOrder::halves && arrays > 1;
  arguments.second_half = static_cast<int>(halves ? arrays / 2 : arrays);
  arguments.divisor = reduction.divisor;
  arguments.partial_result = reduction.partial;
  return arguments;
}

}  // namespace dt

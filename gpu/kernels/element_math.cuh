#pragma once

#include "base/kernels/boolean.h"
#include "base/kernels/element.h"
#include "base/kernels/half.h"
#include "gpu/kernels/device_code.cuh"
#include "gpu/kernels/float8.cuh"

#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace dt {

// Arithmetic of elements as that of Lanes in base/kernels/lanes.h, for a GPU's thread. Results have
// the same bits, but for a NaN: on a GPU it loses its payload.

/// The type in which T is computed.
template <class T>
struct ComputedType {
  using Type = T;
};
template <>
struct ComputedType<Float16> {
  using Type = float;
};
template <>
struct ComputedType<BFloat16> {
  using Type = float;
};
template <>
struct ComputedType<Float8E4M3> {
  using Type = float;
};
template <>
struct ComputedType<Float8E5M2> {
  using Type = float;
};
template <>
struct ComputedType<Boolean> {
  using Type = uint8_t;
};
template <class T>
using Computed = typename ComputedType<T>::Type;

template <class T>
  requires std::is_arithmetic_v<T>
DT_BOTH T widened(T value) {
  return value;
}
template <class T>
  requires std::is_arithmetic_v<T>
DT_BOTH void narrow_to(T value, T& into) {
  into = value;
}

DT_BOTH float widened(Float16 value) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(value.bits));
#else
  return to_float(value);
#endif
}
DT_BOTH void narrow_to(float value, Float16& into) {
#ifdef __CUDA_ARCH__
  into.bits = __half_as_ushort(__float2half_rn(value));
#else
  from_float(value, into);
#endif
}

DT_BOTH float widened(BFloat16 value) {
  return __builtin_bit_cast(float, uint32_t{value.bits} << 16);
}
DT_BOTH void narrow_to(float value, BFloat16& into) {
#ifdef __CUDA_ARCH__
  into.bits = __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  from_float(value, into);
#endif
}

DT_BOTH uint8_t widened(Boolean value) {
  return value.byte != 0 ? 1 : 0;
}
DT_BOTH void narrow_to(uint8_t value, Boolean& into) {
  into.byte = value;
}

/// The arithmetic of a computed type.
template <class V>
struct Arithmetic {
  static constexpr bool is_float = std::is_floating_point_v<V>;
  using Bits = std::conditional_t<
      sizeof(V) == 1, uint8_t,
      std::conditional_t<sizeof(V) == 2, uint16_t,
                         std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>>>;

  DT_BOTH static V sum(V a, V b) {
    if constexpr (is_float) {
      return a + unless_nan(a, b);
    } else {
      return static_cast<V>(static_cast<Bits>(a) + static_cast<Bits>(b));
    }
  }
  DT_BOTH static V product(V a, V b) {
    if constexpr (is_float) {
      return a * unless_nan(a, b);
    } else {
      return static_cast<V>(
          static_cast<Bits>(uint64_t{static_cast<Bits>(a)} * static_cast<Bits>(b)));
    }
  }
  DT_BOTH static V min(V a, V b) {
    if constexpr (is_float) {
      if (a != a || b != b) return sum(a, b);
      return of_bits(static_cast<Bits>(bits_of(a < b ? a : b) | bits_of(b < a ? b : a)));
    } else {
      return a < b ? a : b;
    }
  }
  DT_BOTH static V max(V a, V b) {
    if constexpr (is_float) {
      if (a != a || b != b) return sum(a, b);
      return of_bits(static_cast<Bits>(bits_of(a > b ? a : b) & bits_of(b > a ? b : a)));
    } else {
      return a > b ? a : b;
    }
  }
  /// Requires a divisor from 1.
  DT_BOTH static V quotient(V value, int divisor) {
    if constexpr (is_float) {
      return value / static_cast<V>(divisor);
    } else {
      // A divisor may be too large for V. Division by 32 bits is much faster on a GPU.
      using Signed = std::conditional_t<sizeof(V) == 8, int64_t, int32_t>;
      using Wide = std::conditional_t<std::is_signed_v<V>, Signed, std::make_unsigned_t<Signed>>;
      return static_cast<V>(static_cast<Wide>(value) / static_cast<Wide>(divisor));
    }
  }

 private:
  /// On the CPU, a sum of two NaNs is the first one.
  DT_BOTH static V unless_nan([[maybe_unused]] V a, V b) {
#ifdef __CUDA_ARCH__
    return b;
#else
    return a != a ? a : b;
#endif
  }
  DT_BOTH static Bits bits_of(V value) {
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  DT_BOTH static V of_bits(Bits bits) {
    V value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
};

/// Combines two computed elements of T.
template <class T, ReduceOp op>
DT_BOTH Computed<T> combined(Computed<T> a, Computed<T> b) {
  using A = Arithmetic<Computed<T>>;
  // For booleans, a sum is "or", and a product is "and".
  constexpr bool is_boolean = std::is_same_v<T, Boolean>;
  if constexpr (op == ReduceOp::max || (is_boolean && op == ReduceOp::sum)) {
    return A::max(a, b);
  } else if constexpr (op == ReduceOp::min || (is_boolean && op == ReduceOp::product)) {
    return A::min(a, b);
  } else if constexpr (op == ReduceOp::product) {
    return A::product(a, b);
  } else {
    return A::sum(a, b);
  }
}

}  // namespace dt

#pragma once

#include "base/kernels/boolean.h"
#include "base/kernels/element.h"
#include "base/kernels/float8.h"
#include "base/kernels/half.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dt {

// The files for AVX include this header. `Isa` is a type in the anonymous namespace of such a file.
// So each file has its own instances of these templates. They call no function of the standard
// library.

template <class T, size_t n>
struct VectorOf {
  using Type [[gnu::vector_size(n * sizeof(T))]] = T;
};
template <class T>
struct VectorOf<T, 1> {
  using Type = T;
};

template <size_t bytes>
using UnsignedOfBytes = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

/// `n` elements as they are computed: a vector, or with n = 1 a scalar. The same expressions serve
/// both, so that both have the same bits.
template <class Isa, class T, size_t n>
struct Lanes {
  using Value = typename VectorOf<T, n>::Type;
  using Bits = typename VectorOf<UnsignedOfBytes<sizeof(T)>, n>::Type;

  [[gnu::always_inline]] static Value load(const std::byte* from) {
    Value value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
  }
  [[gnu::always_inline]] static void store(std::byte* to, Value value) {
    __builtin_memcpy(to, &value, sizeof value);
  }

  [[gnu::always_inline]] static Value sum(Value a, Value b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a + unless_nan(a, b);
    } else {
      // The overflow of unsigned integers is defined.
      return value_of(static_cast<Bits>(bits_of(a) + bits_of(b)));
    }
  }
  [[gnu::always_inline]] static Value product(Value a, Value b) {
    if constexpr (std::is_floating_point_v<T>) {
      return a * unless_nan(a, b);
    } else if constexpr (n == 1) {
      // Two uint16_t would be multiplied as int, whose overflow is undefined.
      return value_of(static_cast<Bits>(uint64_t{bits_of(a)} * bits_of(b)));
    } else {
      return value_of(bits_of(a) * bits_of(b));
    }
  }
  [[gnu::always_inline]] static Value min(Value a, Value b) {
    if constexpr (std::is_floating_point_v<T>) {
      // The two differ for zeros of different signs only. The union of their bits is the negative
      // zero.
      const Bits least = bits_of(a < b ? a : b) | bits_of(b < a ? b : a);
      return ordered(a, b) ? value_of(least) : sum(a, b);
    } else {
      return a < b ? a : b;
    }
  }
  [[gnu::always_inline]] static Value max(Value a, Value b) {
    if constexpr (std::is_floating_point_v<T>) {
      const Bits most = bits_of(a > b ? a : b) & bits_of(b > a ? b : a);
      return ordered(a, b) ? value_of(most) : sum(a, b);
    } else {
      return a > b ? a : b;
    }
  }
  [[gnu::always_inline]] static Value quotient(Value value, int divisor) {
    if constexpr (std::is_floating_point_v<T>) {
      return value / static_cast<T>(divisor);
    } else {
      T each[n];
      __builtin_memcpy(each, &value, sizeof value);
      // No CPU divides vectors of integers. A divisor may be too large for T, but not for 64 bits.
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      for (T& element : each)
        element = static_cast<T>(static_cast<Wide>(element) / static_cast<Wide>(divisor));
      __builtin_memcpy(&value, each, sizeof value);
      return value;
    }
  }

  /// Integers are multiplied as double, and truncated toward zero. Too large ones become the
  /// nearest number of the type.
  [[gnu::always_inline]] static Value scaled(Value value, double factor) {
    if constexpr (std::is_floating_point_v<T>) {
      return value * static_cast<T>(factor);
    } else {
      T each[n];
      __builtin_memcpy(each, &value, sizeof value);
      for (T& element : each)
        element = truncated(static_cast<double>(element) * factor);
      __builtin_memcpy(&value, each, sizeof value);
      return value;
    }
  }

  template <ReduceOp op>
  [[gnu::always_inline]] static Value apply(Value a, Value b) {
    if constexpr (op == ReduceOp::min) return min(a, b);
    if constexpr (op == ReduceOp::max) return max(a, b);
    if constexpr (op == ReduceOp::product) return product(a, b);
    if constexpr (op == ReduceOp::sum || op == ReduceOp::average) return sum(a, b);
  }

 private:
  [[gnu::always_inline]] static T truncated(double value) {
    constexpr bool is_signed = std::is_signed_v<T>;
    constexpr auto upper_half = static_cast<double>(uint64_t{1} << (8 * sizeof(T) - 1));
    constexpr double least = is_signed ? -upper_half : 0;
    constexpr double beyond = is_signed ? upper_half : 2 * upper_half;
    if (value >= beyond)
      return static_cast<T>(static_cast<UnsignedOfBytes<sizeof(T)>>(~uint64_t{0}) >> is_signed);
    return value <= least ? static_cast<T>(least) : static_cast<T>(value);
  }
  /// CPUs take the first operand if both are NaN, but compilers exchange operands. If `a` is NaN,
  /// this makes both operands `a`.
  [[gnu::always_inline]] static Value unless_nan(Value a, Value b) { return a != a ? a : b; }
  [[gnu::always_inline]] static auto ordered(Value a, Value b) { return (a == a) & (b == b); }
  [[gnu::always_inline]] static Bits bits_of(Value value) {
    return __builtin_bit_cast(Bits, value);
  }
  [[gnu::always_inline]] static Value value_of(Bits bits) {
    return __builtin_bit_cast(Value, bits);
  }
};

/// Computed as 0 or 1: "or" for sum and maximum, "and" for product and minimum.
template <class Isa, size_t n>
struct Lanes<Isa, Boolean, n> {
  using Bytes = Lanes<Isa, uint8_t, n>;
  using Value = typename Bytes::Value;

  [[gnu::always_inline]] static Value load(const std::byte* from) {
    return Bytes::min(Bytes::load(from), static_cast<Value>(Value{} + 1));
  }
  [[gnu::always_inline]] static void store(std::byte* to, Value value) { Bytes::store(to, value); }

  template <ReduceOp op>
  [[gnu::always_inline]] static Value apply(Value a, Value b) {
    constexpr bool any = op == ReduceOp::sum || op == ReduceOp::max;
    return static_cast<Value>(any ? a | b : a & b);
  }
};

/// Computed as float32, rounded when it is stored. One instruction converts a register.
template <class Isa, size_t n>
struct Lanes<Isa, Float16, n> : Lanes<Isa, float, n> {
  using typename Lanes<Isa, float, n>::Value;
  using Stored = typename VectorOf<uint16_t, n>::Type;

  [[gnu::always_inline]] static Value load(const std::byte* from) {
    Stored stored;
    __builtin_memcpy(&stored, from, sizeof stored);
    return Isa::widen(stored);
  }
  [[gnu::always_inline]] static void store(std::byte* to, Value value) {
    const Stored stored = Isa::narrow(value);
    __builtin_memcpy(to, &stored, sizeof stored);
  }
};

/// Computed as float32, rounded when it is stored. A float32 with a zero lower half is one. So
/// elements at even indices are shifted up in their 32 bits, and those at odd indices are masked.
/// Nothing moves across the register.
template <class Isa, size_t n>
struct Lanes<Isa, BFloat16, n> {
  using Floats = Lanes<Isa, float, n / 2>;
  using Words = typename VectorOf<uint32_t, n / 2>::Type;
  struct Value {
    typename Floats::Value even;
    typename Floats::Value odd;
  };

  [[gnu::always_inline]] static Value load(const std::byte* from) {
    Words words;
    __builtin_memcpy(&words, from, sizeof words);
    return {__builtin_bit_cast(typename Floats::Value, words << 16),
            __builtin_bit_cast(typename Floats::Value, words & 0xffff0000U)};
  }
  [[gnu::always_inline]] static void store(std::byte* to, const Value& value) {
    const Words words = (rounded(value.even) >> 16) | (rounded(value.odd) & 0xffff0000U);
    __builtin_memcpy(to, &words, sizeof words);
  }
  template <ReduceOp op>
  [[gnu::always_inline]] static Value apply(const Value& a, const Value& b) {
    return {Floats::template apply<op>(a.even, b.even), Floats::template apply<op>(a.odd, b.odd)};
  }
  [[gnu::always_inline]] static Value quotient(const Value& value, int divisor) {
    return {Floats::quotient(value.even, divisor), Floats::quotient(value.odd, divisor)};
  }
  [[gnu::always_inline]] static Value scaled(const Value& value, double factor) {
    return {Floats::scaled(value.even, factor), Floats::scaled(value.odd, factor)};
  }

 private:
  /// As from_float, in the upper halves. An operation has made a NaN quiet; it is cut only.
  [[gnu::always_inline]] static Words rounded(typename Floats::Value value) {
    const Words bits = __builtin_bit_cast(Words, value);
    return value == value ? bits + (0x7fffU + (bits >> 16 & 1U)) : bits;
  }
};

/// Computed as float32, rounded when they are stored. They become wider, and narrower, in two
/// steps. In one step from 8 bits to 32, gcc 12 makes no vectors.
template <class Isa, class Float8, size_t n>
struct Float8Lanes : Lanes<Isa, float, n> {
  using typename Lanes<Isa, float, n>::Value;
  using Stored = typename VectorOf<uint8_t, n>::Type;
  using Halves = typename VectorOf<int16_t, n>::Type;
  using Words = typename VectorOf<int32_t, n>::Type;

  [[gnu::always_inline]] static Value load(const std::byte* from) {
    Stored stored;
    __builtin_memcpy(&stored, from, sizeof stored);
    const Halves halves = __builtin_convertvector(stored, Halves);
    return float8_values<Float8, Value>(__builtin_convertvector(halves, Words));
  }
  [[gnu::always_inline]] static void store(std::byte* to, Value value) {
    const Words words = float8_bits<Float8, Words>(value);
    const Halves halves = __builtin_convertvector(words, Halves);
    const Stored stored = __builtin_convertvector(halves, Stored);
    __builtin_memcpy(to, &stored, sizeof stored);
  }
};
template <class Isa, size_t n>
struct Lanes<Isa, Float8E4M3, n> : Float8Lanes<Isa, Float8E4M3, n> {};
template <class Isa, size_t n>
struct Lanes<Isa, Float8E5M2, n> : Float8Lanes<Isa, Float8E5M2, n> {};

/// Conversions between float32 and smaller floats that lie behind each other.
template <class Isa, class Half, size_t n>
struct HalfCast {
  using Narrow = Lanes<Isa, Half, n>;
  [[gnu::always_inline]] static void narrow(std::byte* to, const std::byte* from) {
    Narrow::store(to, Lanes<Isa, float, n>::load(from));
  }
  [[gnu::always_inline]] static void widen(std::byte* to, const std::byte* from) {
    Lanes<Isa, float, n>::store(to, Narrow::load(from));
  }
};

/// As from_float, and to_float: a NaN becomes quiet.
template <class Isa, size_t n>
  requires(n > 1)
struct HalfCast<Isa, BFloat16, n> {
  using Words = typename VectorOf<uint32_t, n>::Type;
  using Halves = typename VectorOf<uint16_t, n>::Type;
  static constexpr uint32_t quiet = 0x00400000U;

  [[gnu::always_inline]] static void narrow(std::byte* to, const std::byte* from) {
    Words bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    const auto is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
    const Words rounded = bits + (0x7fffU + (bits >> 16 & 1U));
    const Halves halves = __builtin_convertvector((is_nan ? bits | quiet : rounded) >> 16, Halves);
    __builtin_memcpy(to, &halves, sizeof halves);
  }
  [[gnu::always_inline]] static void widen(std::byte* to, const std::byte* from) {
    Halves halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    const Words bits = __builtin_convertvector(halves, Words) << 16;
    __builtin_memcpy(to, &bits, sizeof bits);
  }
};

/// A 16-bit or 8-bit float alone.
template <class Isa, class Half>
struct HalfLane : Lanes<Isa, float, 1> {
  [[gnu::always_inline]] static float load(const std::byte* from) {
    Half half;
    __builtin_memcpy(&half.bits, from, sizeof half.bits);
    return to_float(half);
  }
  [[gnu::always_inline]] static void store(std::byte* to, float value) {
    Half half;
    from_float(value, half);
    __builtin_memcpy(to, &half.bits, sizeof half.bits);
  }
};
template <class Isa>
struct Lanes<Isa, Float16, 1> : HalfLane<Isa, Float16> {};
template <class Isa>
struct Lanes<Isa, BFloat16, 1> : HalfLane<Isa, BFloat16> {};
template <class Isa>
struct Lanes<Isa, Float8E4M3, 1> : HalfLane<Isa, Float8E4M3> {};
template <class Isa>
struct Lanes<Isa, Float8E5M2, 1> : HalfLane<Isa, Float8E5M2> {};

}  // namespace dt

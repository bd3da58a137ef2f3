#include "base/kernels/identity.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace dt {

namespace {

/// A sum keeps the sign of a zero only with a negative one.
template <class T>
T identity(ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  if (op == ReduceOp::product) return 1;
  if (op == ReduceOp::min) return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if (op == ReduceOp::max) return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return Limits::has_infinity ? -T(0) : T(0);
}

/// The bits of a 16-bit or 8-bit float.
template <class Bits>
struct FloatBits {
  Bits one;
  Bits most;  ///< the infinity, or the largest number where results are no infinity
};

template <class Bits>
Bits float_identity(FloatBits<Bits> bits, ReduceOp op) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  if (op == ReduceOp::product) return bits.one;
  if (op == ReduceOp::min) return bits.most;
  return op == ReduceOp::max ? bits.most | sign : sign;
}

template <class T>
void fill(std::byte* elements, size_t count, T value) {
  std::fill_n(reinterpret_cast<T*>(elements), count, value);
}

template <class T>
void fill_numbers(std::byte* elements, size_t count, ReduceOp op) {
  fill(elements, count, identity<T>(op));
}

}  // namespace

void fill_identity(ElementType type, ReduceOp op, std::byte* elements, size_t count) {
  switch (type) {
    case ElementType::int8:
      return fill_numbers<int8_t>(elements, count, op);
    case ElementType::uint8:
      return fill_numbers<uint8_t>(elements, count, op);
    case ElementType::int16:
      return fill_numbers<int16_t>(elements, count, op);
    case ElementType::uint16:
      return fill_numbers<uint16_t>(elements, count, op);
    case ElementType::int32:
      return fill_numbers<int32_t>(elements, count, op);
    case ElementType::uint32:
      return fill_numbers<uint32_t>(elements, count, op);
    case ElementType::int64:
      return fill_numbers<int64_t>(elements, count, op);
    case ElementType::uint64:
      return fill_numbers<uint64_t>(elements, count, op);
    case ElementType::float16:
      return fill(elements, count, float_identity<uint16_t>({.one = 0x3c00, .most = 0x7c00}, op));
    case ElementType::bfloat16:
      return fill(elements, count, float_identity<uint16_t>({.one = 0x3f80, .most = 0x7f80}, op));
    case ElementType::float32:
      return fill_numbers<float>(elements, count, op);
    case ElementType::float64:
      return fill_numbers<double>(elements, count, op);
    case ElementType::boolean:
      return fill(
          elements, count,
          uint8_t{op == ReduceOp::product || op == ReduceOp::min ? uint8_t{1} : uint8_t{0}});
    case ElementType::float8_e4m3:
      return fill(elements, count, float_identity<uint8_t>({.one = 0x38, .most = 0x7e}, op));
    case ElementType::float8_e5m2:
      return fill(elements, count, float_identity<uint8_t>({.one = 0x3c, .most = 0x7b}, op));
  }
}

}  // namespace dt

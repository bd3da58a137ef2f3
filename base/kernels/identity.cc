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

/// The bits of a 16-bit float.
struct HalfBits {
  uint16_t one;
  uint16_t infinity;
};

uint16_t half_identity(HalfBits bits, ReduceOp op) {
  constexpr uint16_t sign = 0x8000;
  if (op == ReduceOp::product) return bits.one;
  if (op == ReduceOp::min) return bits.infinity;
  return op == ReduceOp::max ? bits.infinity | sign : sign;
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
      return fill(elements, count, half_identity({.one = 0x3c00, .infinity = 0x7c00}, op));
    case ElementType::bfloat16:
      return fill(elements, count, half_identity({.one = 0x3f80, .infinity = 0x7f80}, op));
    case ElementType::float32:
      return fill_numbers<float>(elements, count, op);
    case ElementType::float64:
      return fill_numbers<double>(elements, count, op);
    case ElementType::boolean:
      return fill(
          elements, count,
          uint8_t{op == ReduceOp::product || op == ReduceOp::min ? uint8_t{1} : uint8_t{0}});
  }
}

}  // namespace dt

#include "base/kernels/half_cast.h"

#include "base/kernels/cpu.h"
#include "base/kernels/kernel_choice.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

namespace dt {

namespace {

/// Converts elements one by one.
template <class To, class From>
void cast_each(std::byte* to, const std::byte* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    const auto cast = static_cast<To>(value);
    std::memcpy(to + i * sizeof cast, &cast, sizeof cast);
  }
}

/// As many float32 as stay in the first cache.
using FloatPiece = std::array<float, 1024>;

}  // namespace

HalfCaster::HalfCaster(ElementType wide, ElementType half) : HalfCaster(wide, half, kernels()) {
}

HalfCaster::HalfCaster(ElementType wide, ElementType half, const KernelSet& kernels)
    : from_double_(wide == ElementType::float64),
      half_bytes_(element_bytes(half)),
      narrow_(kernels.narrow[static_cast<size_t>(half)]),
      widen_(kernels.widen[static_cast<size_t>(half)]) {
  assert(wide == ElementType::float32 || from_double_);
  assert(narrow_ != nullptr && widen_ != nullptr);
}

void HalfCaster::narrow(std::byte* halves, const std::byte* wides, size_t count) const {
  const DefaultRounding rounding;
  if (!from_double_) return narrow_(halves, wides, count);
  FloatPiece piece;
  auto* floats = reinterpret_cast<std::byte*>(piece.data());
  for (size_t i = 0; i < count; i += piece.size()) {
    const size_t length = std::min(piece.size(), count - i);
    cast_each<float, double>(floats, wides + i * sizeof(double), length);
    narrow_(halves + i * half_bytes_, floats, length);
  }
}

void HalfCaster::widen(std::byte* wides, const std::byte* halves, size_t count) const {
  const DefaultRounding rounding;
  if (!from_double_) return widen_(wides, halves, count);
  FloatPiece piece;
  auto* floats = reinterpret_cast<std::byte*>(piece.data());
  for (size_t i = 0; i < count; i += piece.size()) {
    const size_t length = std::min(piece.size(), count - i);
    widen_(floats, halves + i * half_bytes_, length);
    cast_each<double, float>(wides + i * sizeof(double), floats, length);
  }
}

}  // namespace dt

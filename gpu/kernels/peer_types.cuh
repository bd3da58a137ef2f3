#pragma once

#include "base/kernels/element.h"
#include "base/kernels/half.h"

#include <cstdint>

namespace dt {

/// Returns visitor.operator()<T>() of the type by which kernels of peers add these elements. Sums
/// of signed integers have the bits of unsigned ones. Returns visitor.none() for types that
/// peers_can_sum() refuses.
template <class Visitor>
auto visit_peer_types(ElementType type, const Visitor& visitor) {
  switch (type) {
    case ElementType::float16:
      return visitor.template operator()<Float16>();
    case ElementType::bfloat16:
      return visitor.template operator()<BFloat16>();
    case ElementType::float32:
      return visitor.template operator()<float>();
    case ElementType::float64:
      return visitor.template operator()<double>();
    case ElementType::int32:
    case ElementType::uint32:
      return visitor.template operator()<uint32_t>();
    case ElementType::int64:
    case ElementType::uint64:
      return visitor.template operator()<uint64_t>();
    default:
      return visitor.none();
  }
}

}  // namespace dt

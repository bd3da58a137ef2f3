#pragma once

#include "gpu/copy_batch.h"
#include "gpu/kernels/copy_kernel.cuh"

namespace dt {

/// Calls visit.template operator()<From, To>() with the types of two formats, which check() accepts
/// for a batch. Returns its result, or none() for other formats.
template <class Visit>
auto visit_copy_types(CopyFormat from, CopyFormat to, const Visit& visit) {
  const auto cast = [&]<class Small>() {
    if (from == to) return visit.template operator()<Small, Small>();
    if (from == CopyFormat::float32) return visit.template operator()<float, Small>();
    return to == CopyFormat::float32 ? visit.template operator()<Small, float>() : visit.none();
  };
  switch (from == CopyFormat::float32 ? to : from) {
    case CopyFormat::bytes1:
      return from == to ? visit.template operator()<uint8_t, uint8_t>() : visit.none();
    case CopyFormat::bytes2:
      return from == to ? visit.template operator()<uint16_t, uint16_t>() : visit.none();
    case CopyFormat::bytes4:
      return from == to ? visit.template operator()<uint32_t, uint32_t>() : visit.none();
    case CopyFormat::bytes8:
      return from == to ? visit.template operator()<uint64_t, uint64_t>() : visit.none();
    case CopyFormat::float16:
      return cast.template operator()<Float16>();
    case CopyFormat::bfloat16:
      return cast.template operator()<BFloat16>();
    case CopyFormat::float32:
      return visit.template operator()<float, float>();
    case CopyFormat::float64:
      return from == to ? visit.template operator()<double, double>() : visit.none();
    case CopyFormat::float8_e4m3:
      return cast.template operator()<Float8E4M3>();
    case CopyFormat::float8_e5m2:
      return cast.template operator()<Float8E5M2>();
  }
  return visit.none();
}

}  // namespace dt

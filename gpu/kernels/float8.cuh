#pragma once

#include "base/kernels/float8.h"
#include "gpu/kernels/device_code.cuh"

#ifdef __CUDACC__
#include <cuda_fp8.h>
#endif

namespace dt {

/// As from_float(), by an instruction where the GPU has one. A NaN may lose its sign there.
DT_BOTH void narrow_to(float value, Float8E4M3& into) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  into.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
#else
  from_float(value, into);
#endif
}
DT_BOTH void narrow_to(float value, Float8E5M2& into) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  into.bits = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2);
#else
  from_float(value, into);
#endif
}
DT_BOTH float widened(Float8E4M3 value) {
  return to_float(value);
}
DT_BOTH float widened(Float8E5M2 value) {
  return to_float(value);
}

}  // namespace dt

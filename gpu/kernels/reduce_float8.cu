#include "gpu/kernels/reduce_global.cuh"

namespace dt {

KernelFunction reduce_kernel_float8(ElementType type, ReduceOp op) {
  if (type == ElementType::float8_e4m3) return float_kernel<Float8E4M3>(op);
  if (type == ElementType::float8_e5m2) return float_kernel<Float8E5M2>(op);
  return nullptr;
}

}  // namespace dt

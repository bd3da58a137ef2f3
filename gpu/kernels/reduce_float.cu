#include "gpu/kernels/reduce_global.cuh"

namespace dt {

KernelFunction reduce_kernel_float(ElementType type, ReduceOp op) {
  if (type == ElementType::float32) return float_kernel<float>(op);
  if (type == ElementType::float64) return float_kernel<double>(op);
  return nullptr;
}

}  // namespace dt

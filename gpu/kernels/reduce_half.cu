#include "gpu/kernels/reduce_global.cuh"

namespace dt {

KernelFunction reduce_kernel_half(ElementType type, ReduceOp op) {
  if (type == ElementType::float16) return float_kernel<Float16>(op);
  if (type == ElementType::bfloat16) return float_kernel<BFloat16>(op);
  return nullptr;
}

}  // namespace dt

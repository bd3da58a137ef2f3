#include "gpu/kernels/kernel_table.h"

namespace dt {

KernelFunction reduce_kernel(ElementType type, ReduceOp op) {
  for (const auto part :
       {reduce_kernel_half, reduce_kernel_float, reduce_kernel_small_integer, reduce_kernel_integer,
        reduce_kernel_float8, reduce_kernel_rare_integer}) {
    if (const KernelFunction kernel = part(type, op); kernel != nullptr) return kernel;
  }
  return nullptr;
}

}  // namespace dt

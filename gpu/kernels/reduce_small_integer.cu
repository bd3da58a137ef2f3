#include "gpu/kernels/reduce_global.cuh"

namespace dt {

KernelFunction reduce_kernel_small_integer(ElementType type, ReduceOp op) {
  switch (type) {
    case ElementType::int8:
      return integer_sum_kernel<int8_t>(op);
    case ElementType::uint8:
      return integer_sum_kernel<uint8_t>(op);
    case ElementType::int16:
      return integer_sum_kernel<int16_t>(op);
    case ElementType::uint16:
      return integer_sum_kernel<uint16_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace dt

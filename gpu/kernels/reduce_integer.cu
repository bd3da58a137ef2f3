#include "gpu/kernels/reduce_global.cuh"

namespace dt {

KernelFunction reduce_kernel_integer(ElementType type, ReduceOp op) {
  switch (type) {
    case ElementType::int32:
      return integer_kernel<int32_t>(op);
    case ElementType::uint32:
      return integer_kernel<uint32_t>(op);
    case ElementType::int64:
      return integer_kernel<int64_t>(op);
    case ElementType::uint64:
      return integer_kernel<uint64_t>(op);
    default:
      return nullptr;
  }
}

}  // namespace dt

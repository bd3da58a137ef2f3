#include "gpu/kernels/reduce_global.cuh"

namespace dt {

namespace {

/// A sum of booleans is their maximum, and a product their minimum.
KernelFunction boolean_kernel(ReduceOp op) {
  if (op == ReduceOp::sum || op == ReduceOp::max) return kernel_function<Boolean, ReduceOp::max>();
  if (op == ReduceOp::product || op == ReduceOp::min)
    return kernel_function<Boolean, ReduceOp::min>();
  return nullptr;
}

}  // namespace

KernelFunction reduce_kernel_rare_integer(ElementType type, ReduceOp op) {
  switch (type) {
    case ElementType::int8:
      return other_integer_kernel<int8_t>(op);
    case ElementType::uint8:
      return other_integer_kernel<uint8_t>(op);
    case ElementType::int16:
      return other_integer_kernel<int16_t>(op);
    case ElementType::uint16:
      return other_integer_kernel<uint16_t>(op);
    case ElementType::boolean:
      return boolean_kernel(op);
    default:
      return nullptr;
  }
}

}  // namespace dt

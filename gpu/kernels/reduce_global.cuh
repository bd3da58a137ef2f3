#pragma once

#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/reduce_kernel.cuh"

namespace dt {

template <class T, ReduceOp op>
__global__ void __launch_bounds__(kernel_block_threads, 2)
    reduce_arrays_kernel(const __grid_constant__ ReduceArguments arguments) {
  reduce_elements<T, op>(arguments, {uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                                     uint64_t{gridDim.x} * blockDim.x});
}

template <class T, ReduceOp op>
KernelFunction kernel_function() {
  return reinterpret_cast<KernelFunction>(reduce_arrays_kernel<T, op>);
}

/// Returns the kernel of an operation on floats.
template <class T>
KernelFunction float_kernel(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return kernel_function<T, ReduceOp::sum>();
    case ReduceOp::average:
      return kernel_function<T, ReduceOp::average>();
    case ReduceOp::min:
      return kernel_function<T, ReduceOp::min>();
    case ReduceOp::max:
      return kernel_function<T, ReduceOp::max>();
    case ReduceOp::product:
      return kernel_function<T, ReduceOp::product>();
    case ReduceOp::adasum:
      break;
  }
  return nullptr;
}

/// Returns the kernel of a sum or an average of integers; null for other operations. Sums and
/// products of signed integers have the bits of unsigned ones.
template <class T>
KernelFunction integer_sum_kernel(ReduceOp op) {
  if (op == ReduceOp::sum) return kernel_function<std::make_unsigned_t<T>, ReduceOp::sum>();
  if (op == ReduceOp::average) return kernel_function<T, ReduceOp::average>();
  return nullptr;
}

/// Returns the kernel of another operation on integers.
template <class T>
KernelFunction other_integer_kernel(ReduceOp op) {
  if (op == ReduceOp::min) return kernel_function<T, ReduceOp::min>();
  if (op == ReduceOp::max) return kernel_function<T, ReduceOp::max>();
  if (op == ReduceOp::product) return kernel_function<std::make_unsigned_t<T>, ReduceOp::product>();
  return nullptr;
}

/// As float_kernel().
template <class T>
KernelFunction integer_kernel(ReduceOp op) {
  const KernelFunction sum = integer_sum_kernel<T>(op);
  return sum != nullptr ? sum : other_integer_kernel<T>(op);
}

}  // namespace dt

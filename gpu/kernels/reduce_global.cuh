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

/// As float_kernel(). Sums and products of signed integers have the bits of unsigned ones.
template <class T>
KernelFunction integer_kernel(ReduceOp op) {
  using Unsigned = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::sum:
      return kernel_function<Unsigned, ReduceOp::sum>();
    case ReduceOp::average:
      return kernel_function<T, ReduceOp::average>();
    case ReduceOp::min:
      return kernel_function<T, ReduceOp::min>();
    case ReduceOp::max:
      return kernel_function<T, ReduceOp::max>();
    case ReduceOp::product:
      return kernel_function<Unsigned, ReduceOp::product>();
    case ReduceOp::adasum:
      break;
  }
  return nullptr;
}

}  // namespace dt

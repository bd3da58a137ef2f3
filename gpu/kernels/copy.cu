#include "gpu/kernels/copy_formats.cuh"
#include "gpu/kernels/kernel_table.h"

namespace dt {

namespace {

template <class From, class To, int capacity>
__global__ void __launch_bounds__(kernel_block_threads, 2)
    copy_pieces_kernel(const __grid_constant__ CopyArguments<capacity> arguments) {
  copy_elements<From, To>(arguments, GridPlace{blockIdx.x, gridDim.x},
                          GridPlace{threadIdx.x, blockDim.x});
}

struct KernelVisit {
  bool few;

  template <class From, class To>
  KernelFunction operator()() const {
    if (few) {
      return reinterpret_cast<KernelFunction>(copy_pieces_kernel<From, To, few_copy_items>);
    }
    return reinterpret_cast<KernelFunction>(copy_pieces_kernel<From, To, many_copy_items>);
  }
  KernelFunction none() const { return nullptr; }
};

}  // namespace

KernelFunction copy_kernel(CopyFormat from, CopyFormat to, bool few) {
  return visit_copy_types(from, to, KernelVisit{few});
}

}  // namespace dt

#include "gpu/kernels/block_threads.cuh"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/peer_all_reduce.cuh"
#include "gpu/kernels/peer_types.cuh"

namespace dt {

namespace {

template <class T>
__global__ void __launch_bounds__(peer_block_threads, 1)
    peer_all_reduce_kernel(const __grid_constant__ PeerAllReduce call) {
  const BlockThreads threads;
  PeerAllReduceBlock<T, ReduceOp::sum, SystemOrder, BlockThreads>(
      call, static_cast<int>(blockIdx.x), threads)
      .run();
}

struct KernelVisit {
  template <class T>
  KernelFunction operator()() const {
    return reinterpret_cast<KernelFunction>(peer_all_reduce_kernel<T>);
  }
  KernelFunction none() const { return nullptr; }
};

}  // namespace

KernelFunction peer_sum_kernel(ElementType type) {
  return visit_peer_types(type, KernelVisit());
}

}  // namespace dt

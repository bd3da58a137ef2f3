// Compiles the all_reduce between peers for GPUs, to check its machine code. Of our programs, only
// tests/cuda/peer_check.cu launches it.
#include "gpu/kernels/block_threads.cuh"
#include "gpu/kernels/peer_all_reduce.cuh"

namespace dt {

namespace {

template <class T>
__global__ void __launch_bounds__(512, 1)
    peer_all_reduce(const __grid_constant__ PeerAllReduce call) {
  const BlockThreads threads;
  PeerAllReduceBlock<T, ReduceOp::sum, SystemOrder, BlockThreads>(
      call, static_cast<int>(blockIdx.x), threads)
      .run();
}

}  // namespace

extern const void* const peer_kernels[2];
const void* const peer_kernels[] = {reinterpret_cast<const void*>(peer_all_reduce<float>),
                                    reinterpret_cast<const void*>(peer_all_reduce<BFloat16>)};

}  // namespace dt

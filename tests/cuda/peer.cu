// Compiles the all_reduce between peers for GPUs, to check its machine code. No device launches it
// yet.
#include "gpu/kernels/peer_all_reduce.cuh"

namespace dt {

namespace {

/// The threads of a GPU's block.
struct BlockThreads {
  template <class Function>
  __device__ void for_each(uint64_t count, const Function& function) const {
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      function(i);
  }
  __device__ void sync() const { __syncthreads(); }
  __device__ bool all(bool value) const { return __syncthreads_and(value ? 1 : 0) != 0; }
};

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

#pragma once

#include <cstdint>

namespace dt {

#ifdef __CUDACC__
/// The threads of a GPU's block, as PeerAllReduceBlock takes them.
struct BlockThreads {
  template <class Function>
  __device__ void for_each(uint64_t count, const Function& function) const {
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      function(i);
  }
  __device__ void sync() const { __syncthreads(); }
  __device__ bool all(bool value) const { return __syncthreads_and(value ? 1 : 0) != 0; }
};
#endif

}  // namespace dt

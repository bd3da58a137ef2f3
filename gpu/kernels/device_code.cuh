#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Code in .cuh files runs on GPUs, and on the CPU for tests and for CPU devices. Compilers other
// than nvcc see plain C++.
#ifdef __CUDACC__
#define DT_BOTH __host__ __device__ __forceinline__
#define DT_UNROLL _Pragma("unroll")
#else
#define DT_BOTH inline
#define DT_UNROLL
#endif

namespace dt {

/// The widest access of a thread.
struct alignas(16) Chunk {
  uint32_t words[4];
};

/// Reads 16 aligned bytes that no thread reads again.
DT_BOTH Chunk load_chunk(const std::byte* from) {
#ifdef __CUDA_ARCH__
  const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from));
  return {{words.x, words.y, words.z, words.w}};
#else
  Chunk chunk;
  std::memcpy(&chunk, from, sizeof chunk);
  return chunk;
#endif
}

/// Writes 16 aligned bytes.
DT_BOTH void store_chunk(std::byte* to, const Chunk& chunk) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint4*>(to),
         make_uint4(chunk.words[0], chunk.words[1], chunk.words[2], chunk.words[3]));
#else
  std::memcpy(to, &chunk, sizeof chunk);
#endif
}

/// A thread among all threads of a launch.
struct GridPlace {
  uint64_t thread = 0;
  uint64_t threads = 1;
};

}  // namespace dt

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// Code in .cuh files runs on GPUs, and on the CPU for tests and for CPU devices. Compilers other
// than nvcc see plain C++.
#ifdef __CUDACC__
#define DT_BOTH __host__ __device__ __forceinline__
#define DT_UNROLL _Pragma("unroll")
#define DT_NO_UNROLL _Pragma("unroll 1")
#else
#define DT_BOTH inline
#define DT_UNROLL
#define DT_NO_UNROLL
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

/// Reads up to 16 bytes at any address, and zeros behind the first `bytes`.
DT_BOTH Chunk load_bytes(const std::byte* from, uint64_t bytes) {
  if (bytes >= sizeof(Chunk) && reinterpret_cast<uintptr_t>(from) % sizeof(Chunk) == 0)
    return load_chunk(from);
  Chunk chunk = {};
  DT_UNROLL
  for (uint32_t i = 0; i < sizeof(Chunk); ++i) {
    if (i < bytes) chunk.words[i / 4] |= static_cast<uint32_t>(from[i]) << (i % 4 * 8);
  }
  return chunk;
}

/// Writes the first `bytes` of 16, at any address.
DT_BOTH void store_bytes(std::byte* to, const Chunk& chunk, uint64_t bytes) {
  if (bytes >= sizeof(Chunk) && reinterpret_cast<uintptr_t>(to) % sizeof(Chunk) == 0)
    return store_chunk(to, chunk);
  DT_UNROLL
  for (uint32_t i = 0; i < sizeof(Chunk); ++i) {
    if (i < bytes) to[i] = static_cast<std::byte>(chunk.words[i / 4] >> (i % 4 * 8));
  }
}

/// A thread among all threads of a launch.
struct GridPlace {
  uint64_t thread = 0;
  uint64_t threads = 1;
};

}  // namespace dt

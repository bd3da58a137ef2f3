// Variants of kernels that copy and sum, beside R: a copy of the driver from device to device. The
// copies have several loads on their way, and the sums are the library's kernel on several numbers
// of blocks, and one whose number of arrays is known to the compiler. All arrays are random, and
// the next call has other ones. Prints medians and quartiles. Ends with 77, and the reason, where
// no GPU is usable.
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/reduce_kernel.cuh"
#include "tests/cuda/gpu_program.h"

#include <algorithm>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr size_t array_bytes = size_t{256} << 20;
constexpr size_t chunks = array_bytes / 16;
constexpr int sources = 8;

__global__ void fill_randomly(uint4* at, uint32_t seed) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks; i += threads) {
    uint32_t x = static_cast<uint32_t>(i) * 2654435761u + seed;
    // Neither a float32 nor a bfloat16 has its highest bit of the exponent, so no sum is infinite.
    const auto next = [&] {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      return x & 0xbfffbfffu;
    };
    at[i] = make_uint4(next(), next(), next(), next());
  }
}

/// Each thread makes all loads of a step before its stores.
template <int unroll>
__global__ void __launch_bounds__(kernel_block_threads, 2)
    copy_chunks(uint4* to, const uint4* from) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (size_t i = first; i < chunks; i += unroll * threads) {
    uint4 loaded[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (i + u * threads < chunks) loaded[u] = __ldcs(from + i + u * threads);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      if (i + u * threads < chunks) __stcs(to + i + u * threads, loaded[u]);
  }
}

struct Sources {
  const float4* at[sources];
};

/// The loads of all arrays are on their way together.
template <int arrays>
__global__ void __launch_bounds__(kernel_block_threads)
    sum_known(float4* to, const __grid_constant__ Sources from) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chunks; i += threads) {
    float4 loaded[arrays];
#pragma unroll
    for (int a = 0; a < arrays; ++a)
      loaded[a] = __ldcs(from.at[a] + i);
    float4 sum = loaded[0];
#pragma unroll
    for (int a = 1; a < arrays; ++a) {
      sum.x += loaded[a].x;
      sum.y += loaded[a].y;
      sum.z += loaded[a].z;
      sum.w += loaded[a].w;
    }
    __stcs(to + i, sum);
  }
}

class Variants {
 public:
  Variants() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
    check_cuda(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0),
               "cudaDeviceGetAttribute");
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    for (uint32_t i = 0; i < sources + 2; ++i) {
      check_cuda(cudaMalloc(&memory_.emplace_back(), array_bytes), "cudaMalloc");
      fill_randomly<<<1024, 256, 0, stream_>>>(memory_.back(), 17 * i + 1);
      check_cuda(cudaGetLastError(), "a launch");
    }
    std::printf("| kernel | median (quartiles) | read and written | of R |\n|---|---|---|---|\n");
  }

  void copies() {
    row("R: cudaMemcpyAsync, device to device", 1, [&](int i) {
      check_cuda(cudaMemcpyAsync(to(i), from(i), array_bytes, cudaMemcpyDeviceToDevice, stream_),
                 "cudaMemcpyAsync");
    });
    for (const int blocks : {2, 4, 8}) {
      copy<1>(blocks);
      copy<2>(blocks);
      copy<4>(blocks);
      copy<8>(blocks);
    }
  }

  void sums() {
    for (const int arrays : {2, 4, 8}) {
      for (const int blocks : {1, 2, 4, 8}) {
        sum_as_library(ElementType::float32, arrays, blocks);
        sum_as_library(ElementType::bfloat16, arrays, blocks);
      }
    }
    for (const int blocks : {2, 4, 8}) {
      sum_of_known<2>(blocks);
      sum_of_known<4>(blocks);
      sum_of_known<8>(blocks);
    }
  }

 private:
  uint4* to(int call) const { return memory_[static_cast<size_t>(sources + call % 2)]; }
  uint4* from(int call) const { return memory_[static_cast<size_t>(call % sources)]; }
  unsigned grid(int blocks) const { return static_cast<unsigned>(blocks * multiprocessors_); }

  static std::string on(int blocks) { return ", " + std::to_string(blocks) + " blocks/SM"; }

  template <int unroll>
  void copy(int blocks) {
    row("copy, " + std::to_string(unroll) + " loads first" + on(blocks), 1, [&](int i) {
      copy_chunks<unroll><<<grid(blocks), kernel_block_threads, 0, stream_>>>(to(i), from(i));
    });
  }

  void sum_as_library(ElementType type, int arrays, int blocks) {
    ReduceArguments arguments;
    arguments.count = array_bytes / element_bytes(type);
    arguments.array_count = arguments.second_half = arrays;
    const char* const name = type == ElementType::float32 ? " float32" : " bfloat16";
    row("sum of " + std::to_string(arrays) + name + on(blocks), arrays, [&](int i) {
      for (int a = 0; a < arrays; ++a)
        arguments.arrays[a] = reinterpret_cast<const std::byte*>(from(i + a));
      arguments.into = reinterpret_cast<std::byte*>(to(i));
      void* parameters[] = {&arguments};
      check_cuda(cudaLaunchKernel(reduce_kernel(type, ReduceOp::sum), grid(blocks),
                                  kernel_block_threads, parameters, 0, stream_),
                 "cudaLaunchKernel");
    });
  }

  template <int arrays>
  void sum_of_known(int blocks) {
    row("sum of " + std::to_string(arrays) + " float32, their number known" + on(blocks), arrays,
        [&](int i) {
          Sources all = {};
          for (int a = 0; a < arrays; ++a)
            all.at[a] = reinterpret_cast<const float4*>(from(i + a));
          sum_known<arrays><<<grid(blocks), kernel_block_threads, 0, stream_>>>(
              reinterpret_cast<float4*>(to(i)), all);
        });
  }

  /// Measures a call that reads so many arrays and writes one. The first row is R.
  template <class Call>
  void row(const std::string& what, int arrays, const Call& call) {
    constexpr int warm_calls = 5;
    constexpr int calls = 41;
    std::vector<float> times_ms;
    for (int i = 0; i < warm_calls + calls; ++i) {
      check_cuda(cudaEventRecord(begin_, stream_), "cudaEventRecord");
      call(i);
      check_cuda(cudaGetLastError(), "a launch");
      check_cuda(cudaEventRecord(end_, stream_), "cudaEventRecord");
      check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
      float ms = 0;
      check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
      if (i >= warm_calls) times_ms.push_back(ms);
    }
    std::sort(times_ms.begin(), times_ms.end());
    const auto us = [&](size_t quarter) {
      return static_cast<double>(times_ms[quarter * calls / 4]) * 1000;
    };
    const double rate = (arrays + 1.0) * array_bytes / us(2) / 1000;
    if (copy_rate_ == 0) copy_rate_ = rate;
    std::printf("| %s | %.1f us (%.1f to %.1f) | %.0f GB/s | %.3f |\n", what.c_str(), us(2), us(1),
                us(3), rate, rate / copy_rate_);
  }

  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  int multiprocessors_ = 0;
  std::vector<uint4*> memory_ = {};
  double copy_rate_ = 0;
};

}  // namespace
}  // namespace dt

int main() {
  dt::find_gpu();
  dt::Variants variants;
  variants.copies();
  variants.sums();
  return 0;
}

#pragma once

#include "tests/cuda/gpu_program.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>

namespace dt {

using SteadyClock = std::chrono::steady_clock;
using Word = std::atomic<uint32_t>;
using ValueOperation = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

inline constexpr size_t mebibyte = size_t{1} << 20;

inline double us_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - begin).count();
}

template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  check_cuda(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result),
             name);
  if (found == nullptr) {
    std::printf("the driver has no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function>(found);
}

inline void check_driver(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::printf("%s: status %d of the driver\n", call, static_cast<int>(status));
  std::exit(1);
}

inline CUdeviceptr address(const void* at) {
  return reinterpret_cast<CUdeviceptr>(at);
}

static __global__ void add(int* at) {
  *at += 1;
}
inline void CUDART_CB wait_for_word(void* word) {
  while (static_cast<const Word*>(word)->load() == 0)
    usleep(20);
}

inline void* pinned_memory(size_t bytes) {
  void* made = nullptr;
  check_cuda(cudaHostAlloc(&made, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
             "cudaHostAlloc");
  return made;
}

inline void* gpu_memory(size_t bytes) {
  void* made = nullptr;
  check_cuda(cudaMalloc(&made, bytes), "cudaMalloc");
  return made;
}

/// Returns a stream that does not wait for the default stream; those of libdtrain have the highest
/// priority.
inline cudaStream_t make_stream(bool high_priority) {
  int least = 0;
  int greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest),
             "cudaDeviceGetStreamPriorityRange");
  cudaStream_t made = nullptr;
  check_cuda(
      cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, high_priority ? greatest : least),
      "cudaStreamCreateWithPriority");
  return made;
}

inline cudaEvent_t make_event(unsigned flags) {
  cudaEvent_t made = nullptr;
  check_cuda(cudaEventCreateWithFlags(&made, flags), "cudaEventCreateWithFlags");
  return made;
}

inline void wait(cudaStream_t stream) {
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

/// All that measurements need before they hold a stream.
struct GpuFixture {
  int* number = static_cast<int*>(gpu_memory(256));
  void* memory = gpu_memory(mebibyte);
  void* freed_memory = gpu_memory(mebibyte);
  void* pinned = pinned_memory(mebibyte);
  void* freed_pinned = pinned_memory(mebibyte);
  Word* word = new (pinned_memory(4096)) Word(0);  ///< 1 ends the hold
  cudaStream_t stream = make_stream(true);
  cudaStream_t other = make_stream(true);
  cudaEvent_t reached = make_event(cudaEventDisableTiming);
  ValueOperation wait_value = driver_function<ValueOperation>("cuStreamWaitValue32");
  ValueOperation write_value = driver_function<ValueOperation>("cuStreamWriteValue32");

  GpuFixture() {
    check_cuda(cudaEventRecord(reached, other), "cudaEventRecord");
    add<<<1, 1, 0, stream>>>(number);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void hold(cudaStream_t held, bool by_host_function) const {
    if (by_host_function) {
      check_cuda(cudaLaunchHostFunc(held, wait_for_word, word), "cudaLaunchHostFunc");
    } else {
      check_driver(wait_value(held, address(word), 1, CU_STREAM_WAIT_VALUE_GEQ),
                   "cuStreamWaitValue32");
    }
  }
};

/// Prints the host's cost of calls, and the rates of copies (gpu_costs.cu).
void measure_costs();

}  // namespace dt

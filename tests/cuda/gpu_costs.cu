#include "tests/cuda/gpu_facts.cuh"

#include <dlfcn.h>

#include <algorithm>
#include <vector>

namespace dt {
namespace {

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

template <size_t size>
struct Parameter {
  char bytes[size] = {};
};
template <size_t size>
__global__ void add_parameter(const __grid_constant__ Parameter<size> parameter, int* at) {
  *at += parameter.bytes[7];
}

/// Prints the mean time that the host spends in a call.
template <class Call>
void cost(const char* what, int times, const Call& call) {
  for (int i = 0; i < 20; ++i)
    call();
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const auto begin = SteadyClock::now();
  for (int i = 0; i < times; ++i)
    call();
  const double us = us_since(begin) / times;
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::printf("| %s | %.2f us |\n", what, us);
}

void measure_queries(const GpuFixture& gpu) {
  const auto attribute = driver_function<CUresult (*)(void*, CUpointer_attribute, CUdeviceptr)>(
      "cuPointerGetAttribute");
  const auto attributes =
      driver_function<CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr)>(
          "cuPointerGetAttributes");
  const char pageable[64] = {};
  unsigned type = 0;
  int ordinal = 0;
  cost("cuPointerGetAttribute twice, memory of the GPU", 5000, [&] {
    attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(gpu.memory));
    attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address(gpu.memory));
  });
  cost("cuPointerGetAttribute, pageable memory", 5000,
       [&] { attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pageable)); });
  cost("cuPointerGetAttributes, both at once", 5000, [&] {
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void* into[] = {&type, &ordinal};
    attributes(2, names, into, address(gpu.memory));
  });
  cost("cudaPointerGetAttributes", 5000, [&] {
    cudaPointerAttributes found;
    cudaPointerGetAttributes(&found, gpu.memory);
  });
  cost("dlopen of libcuda.so.1, which is loaded", 5000,
       [] { dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); });
  cost("cudaGetDriverEntryPointByVersion", 2000,
       [] { driver_function<ValueOperation>("cuStreamWaitValue32"); });
  cost("cudaGetDevice and cudaSetDevice", 5000, [] {
    int device = 0;
    cudaGetDevice(&device);
    cudaSetDevice(device);
  });
  cost("cudaStreamGetDevice and cudaStreamIsCapturing", 5000, [&] {
    int device = 0;
    cudaStreamCaptureStatus status;
    cudaStreamGetDevice(gpu.stream, &device);
    cudaStreamIsCapturing(gpu.stream, &status);
  });
}

void measure_calls(const GpuFixture& gpu) {
  const cudaStream_t stream = gpu.stream;
  cost("cudaEventCreateWithFlags and cudaEventDestroy", 5000,
       [] { cudaEventDestroy(make_event(cudaEventDisableTiming)); });
  cost("cudaEventRecord", 2000, [&] { cudaEventRecord(gpu.reached, stream); });
  cost("cudaEventQuery", 5000, [&] { cudaEventQuery(gpu.reached); });
  cost("cudaStreamWaitEvent", 2000, [&] { cudaStreamWaitEvent(stream, gpu.reached, 0); });
  cost("cuStreamWriteValue32", 500, [&] { gpu.write_value(stream, address(gpu.memory), 1, 0); });
  cost("cuStreamWaitValue32, reached", 500,
       [&] { gpu.wait_value(stream, address(gpu.memory), 1, 0); });
  cost("cudaLaunchHostFunc", 500, [&] { cudaLaunchHostFunc(stream, [](void*) {}, nullptr); });
  cost("a launch with 8 B of parameters", 500, [&] { add<<<1, 1, 0, stream>>>(gpu.number); });
  const Parameter<3900> medium;
  cost("a launch with 3.9 KB", 500,
       [&] { add_parameter<<<1, 1, 0, stream>>>(medium, gpu.number); });
  const Parameter<32000> large;
  cost("a launch with 32 KB", 500, [&] { add_parameter<<<1, 1, 0, stream>>>(large, gpu.number); });
  cost("a launch with 32 KB, and its end", 500, [&] {
    add_parameter<<<1, 1, 0, stream>>>(large, gpu.number);
    cudaStreamSynchronize(stream);
  });
  cost("a launch with 8 B, and its end", 500, [&] {
    add<<<1, 1, 0, stream>>>(gpu.number);
    cudaStreamSynchronize(stream);
  });
  cost("4 KB to pinned memory, and its end by queries", 500, [&] {
    cudaMemcpyAsync(gpu.pinned, gpu.memory, 4096, cudaMemcpyDefault, stream);
    while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    }
  });
}

/// Prints the time from a release by the host until later work of the stream has run.
void measure_release(const GpuFixture& gpu, bool by_host_function) {
  Word* const seen = new (gpu.pinned) Word(0);
  std::vector<double> times_us;
  for (int i = 0; i < 51; ++i) {
    seen->store(0);
    gpu.word->store(0);
    gpu.hold(gpu.stream, by_host_function);
    check_driver(gpu.write_value(gpu.stream, address(seen), 1, 0), "cuStreamWriteValue32");
    usleep(300);
    const auto begin = SteadyClock::now();
    gpu.word->store(1);
    while (seen->load() == 0) {
    }
    times_us.push_back(us_since(begin));
    wait(gpu.stream);
  }
  std::printf("| release by the host of %s, until later work has run | %.2f us |\n",
              by_host_function ? "a host function" : "cuStreamWaitValue32", median(times_us));
}

/// Prints the time that a stream is idle between the end of another stream's work and its own next
/// work.
void measure_handover(const GpuFixture& gpu, bool by_event) {
  const auto* const flag = static_cast<const Word*>(gpu.memory);
  check_cuda(cudaMemset(gpu.memory, 0, 4096), "cudaMemset");
  const cudaEvent_t ended = make_event(cudaEventDefault);
  const cudaEvent_t begun = make_event(cudaEventDefault);
  std::vector<double> times_us;
  for (uint32_t round = 1; round <= 51; ++round) {
    gpu.word->store(0);
    gpu.hold(gpu.other, false);  // so that all is queued before anything runs
    add<<<1, 1, 0, gpu.other>>>(gpu.number);
    check_cuda(cudaEventRecord(ended, gpu.other), "cudaEventRecord");
    if (by_event) {
      check_cuda(cudaStreamWaitEvent(gpu.stream, ended, 0), "cudaStreamWaitEvent");
    } else {
      check_driver(gpu.write_value(gpu.other, address(flag), round, 0), "cuStreamWriteValue32");
      check_driver(gpu.wait_value(gpu.stream, address(flag), round, 0), "cuStreamWaitValue32");
    }
    check_cuda(cudaEventRecord(begun, gpu.stream), "cudaEventRecord");
    gpu.word->store(1);
    wait(gpu.stream);
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, ended, begun), "cudaEventElapsedTime");
    times_us.push_back(static_cast<double>(ms) * 1000);
  }
  std::printf("| gap of a stream that waits for another by %s | %.2f us |\n",
              by_event ? "an event" : "cuStreamWaitValue32", median(times_us));
}

void show_pending_query(const GpuFixture& gpu) {
  const cudaEvent_t pending = make_event(cudaEventDisableTiming);
  gpu.word->store(0);
  gpu.hold(gpu.stream, true);
  check_cuda(cudaEventRecord(pending, gpu.stream), "cudaEventRecord");
  const char* const queried = cudaGetErrorName(cudaEventQuery(pending));
  std::printf("\ncudaEventQuery of a pending event: %s; cudaGetLastError then: %s\n\n", queried,
              cudaGetErrorName(cudaGetLastError()));
  gpu.word->store(1);
  wait(gpu.stream);
}

/// Prints the rates of copies between a GPU and pinned memory, which bound staged collectives.
void measure_pinned_copies(const GpuFixture& gpu) {
  std::printf("| pinned memory | to the host | to the GPU | both at once |\n|---|---|---|---|\n");
  for (const size_t mebibytes : {1, 4, 16, 64, 256}) {
    const size_t bytes = mebibytes * mebibyte;
    void* const hosts[] = {pinned_memory(bytes), pinned_memory(bytes)};
    void* const gpus[] = {gpu_memory(bytes), gpu_memory(bytes)};
    const auto gb_per_s = [&](bool down, bool up) {
      std::vector<double> times_us;
      for (int i = 0; i < 12; ++i) {
        const auto begin = SteadyClock::now();
        if (down) cudaMemcpyAsync(hosts[0], gpus[0], bytes, cudaMemcpyDefault, gpu.stream);
        if (up) cudaMemcpyAsync(gpus[1], hosts[1], bytes, cudaMemcpyDefault, gpu.other);
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        times_us.push_back(us_since(begin));
      }
      return static_cast<double>(bytes) * (down && up ? 2 : 1) / median(times_us) / 1000;
    };
    std::printf("| %zu MiB | %.1f GB/s | %.1f GB/s | %.1f GB/s |\n", mebibytes,
                gb_per_s(true, false), gb_per_s(false, true), gb_per_s(true, true));
    for (int i = 0; i < 2; ++i) {
      check_cuda(cudaFreeHost(hosts[i]), "cudaFreeHost");
      check_cuda(cudaFree(gpus[i]), "cudaFree");
    }
  }
}

}  // namespace

void measure_costs() {
  const GpuFixture gpu;
  std::printf("| call | host |\n|---|---|\n");
  measure_queries(gpu);
  measure_calls(gpu);
  for (const bool by_host_function : {true, false})
    measure_release(gpu, by_host_function);
  for (const bool by_event : {true, false})
    measure_handover(gpu, by_event);
  show_pending_query(gpu);
  measure_pinned_copies(gpu);
}

}  // namespace dt

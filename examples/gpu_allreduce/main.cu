// Adds buffers in the memory of GPUs, one for each rank, and checks each element on its GPU:
//   dtrain run -np 2 --gpu-bind rank gpu_allreduce
// The host waits for nothing between the kernels and the all_reduce: the order of one stream is
// enough. Ends with status 1 when an element is wrong.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <dtrain/dtrain.hpp>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 5;  // of each size; the first is not measured
constexpr unsigned threads_per_block = 256;
constexpr std::size_t bytes_max = std::size_t{64} << 20;

/// Element i of a rank: small whole numbers, whose sums are exact.
__device__ float element(int rank, std::size_t i) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 128);
}

__global__ void fill(float* values, std::size_t count, int rank) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) values[i] = element(rank, i);
}

/// Counts the elements that are not the sum over all ranks.
__global__ void check(const float* values, std::size_t count, int ranks, unsigned* errors) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int rank = 0; rank < ranks; rank++)
    sum += element(rank, i);
  if (values[i] != sum) atomicAdd(errors, 1u);
}

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

/// Chooses the GPU of this rank. With --gpu-bind, a rank sees only the GPU that dtrain has bound
/// for it.
void use_gpu(const dtrain::Context& world) {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status == cudaSuccess) status = cudaSetDevice(world.local_rank() % count);
  if (status == cudaSuccess) return;
  int driver = 0;
  const bool no_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
  throw std::runtime_error(
      std::string("no usable GPU: ") +
      (no_driver ? "NVIDIA's driver is not installed here" : cudaGetErrorString(status)));
}

/// The stream and the memory of this rank. The process ends when it ends, and frees them.
struct Buffers {
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  float* values = nullptr;
  unsigned* errors = nullptr;
};

Buffers allocate() {
  Buffers of;
  check_cuda(cudaStreamCreateWithFlags(&of.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check_cuda(cudaEventCreate(&of.begin), "cudaEventCreate");
  check_cuda(cudaEventCreate(&of.end), "cudaEventCreate");
  check_cuda(cudaMalloc(&of.values, bytes_max), "cudaMalloc");
  check_cuda(cudaMalloc(&of.errors, sizeof *of.errors), "cudaMalloc");
  check_cuda(cudaMemset(of.errors, 0, sizeof *of.errors), "cudaMemset");
  return of;
}

/// Queues fill, all_reduce and check. Then waits, and returns the time of the all_reduce.
float run_round(dtrain::Context& world, const Buffers& of, std::size_t count) {
  const auto blocks = static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
  fill<<<blocks, threads_per_block, 0, of.stream>>>(of.values, count, world.rank());
  check_cuda(cudaEventRecord(of.begin, of.stream), "cudaEventRecord");
  dtrain::Work sum =
      world.all_reduce_async(std::span(of.values, count), dtrain::Op::sum, {.stream = of.stream});
  sum.wait_on(of.stream);
  check_cuda(cudaEventRecord(of.end, of.stream), "cudaEventRecord");
  check<<<blocks, threads_per_block, 0, of.stream>>>(of.values, count, world.size(), of.errors);
  check_cuda(cudaGetLastError(), "a kernel");

  sum.wait();  // throws if the all_reduce has failed
  check_cuda(cudaStreamSynchronize(of.stream), "cudaStreamSynchronize");
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, of.begin, of.end), "cudaEventElapsedTime");
  return ms;
}

/// Returns the wrong elements of all ranks so far.
unsigned count_errors(dtrain::Context& world, const Buffers& of) {
  unsigned errors = 0;
  check_cuda(cudaMemcpy(&errors, of.errors, sizeof errors, cudaMemcpyDefault), "cudaMemcpy");
  return world.all_reduce(errors);
}

int run() {
  dtrain::Context world = dtrain::init();
  use_gpu(world);
  const Buffers of = allocate();
  if (world.rank() == 0) std::printf("%10s %12s %10s %8s\n", "bytes", "ms", "GB/s", "errors");
  unsigned errors = 0;
  for (std::size_t bytes = 4096; bytes <= bytes_max; bytes *= 4) {
    float ms = 0;
    for (int round = 0; round < rounds; round++) {
      const float took = run_round(world, of, bytes / sizeof(float));
      if (round > 0) ms += took / (rounds - 1);
    }
    const unsigned before = errors;
    errors = count_errors(world, of);
    if (world.rank() != 0) continue;
    const double gb_per_s = static_cast<double>(bytes) / 1e6 / ms;
    std::printf("%10zu %12.3f %10.3f %8u\n", bytes, ms, gb_per_s, errors - before);
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_allreduce: %s\n", error.what());
    return 1;
  }
}

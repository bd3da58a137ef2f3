// The all_reduce between peers on one GPU, whose ranks are blocks of one process. With `peer_check
// one`, all ranks are one cooperative launch, which is refused or runs at once. vLLM's schedule,
// whose launch follows a copy of the inputs, runs beside it. With `peer_check streams`, each rank
// has a stream and a launch of its own. Results are compared with the host, bit for bit. Ends with
// 77, and the reason, where no GPU is usable.
#include "base/kernels/half.h"
#include "gpu/kernels/block_threads.cuh"
#include "gpu/kernels/peer_all_reduce.cuh"
#include "tests/cuda/gpu_program.h"
#include "tests/gpu/other_schemes.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr unsigned threads_per_block = 512;
constexpr int rounds = 20;

template <class T>
__global__ void __launch_bounds__(threads_per_block, 1) run_ranks(const PeerAllReduce* calls) {
  const BlockThreads threads;
  PeerAllReduceBlock<T, ReduceOp::sum, SystemOrder, BlockThreads>(
      calls[blockIdx.y], static_cast<int>(blockIdx.x), threads)
      .run();
}

template <class T>
__global__ void __launch_bounds__(threads_per_block, 1) run_parts(const PeerAllReduce* calls) {
  const BlockThreads threads;
  PeerPartsBlock<T, ReduceOp::sum, SystemOrder, BlockThreads>(calls[blockIdx.y],
                                                              static_cast<int>(blockIdx.x), threads)
      .run();
}

void put(float value, float& into) {
  into = value;
}
void put(float value, BFloat16& into) {
  from_float(value, into);
}

/// Element `at` of a rank's input: exact in both types, as all sums are in float32.
float input_at(int rank, uint64_t at) {
  return static_cast<float>((at * 7 + static_cast<uint64_t>(rank) * 13) % 128) / 8;
}

enum class Way { one_shot, two_shot, parts };  ///< `parts`: vLLM's schedule

const char* name_of(Way way) {
  return way == Way::one_shot ? "one-shot" : way == Way::two_shot ? "two-shot" : "vLLM's two-shot";
}

/// How all ranks sum.
struct Shape {
  int ranks = 2;
  int blocks = 1;  ///< of a rank
  uint64_t count = 0;
  Way way = Way::two_shot;
};

/// The memory of all ranks on the GPU.
template <class T>
class Ranks {
 public:
  explicit Ranks(const Shape& shape)
      : ranks_(shape.ranks), blocks_(shape.blocks), count_(shape.count), way_(shape.way) {
    const int ranks = ranks_;
    const uint64_t count = count_;
    check_cuda(cudaHostAlloc(&stop_, sizeof *stop_, cudaHostAllocMapped), "cudaHostAlloc");
    *stop_ = 0;
    check_cuda(cudaHostAlloc(&timeouts_, sizeof *timeouts_ * peer_blocks_max, cudaHostAllocMapped),
               "cudaHostAlloc");
    std::vector<PeerAllReduce> calls(static_cast<size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      PeerAllReduce& call = calls[static_cast<size_t>(rank)];
      call.from = upload(rank);
      call.to = allocate(count * sizeof(T));
      call.input = allocate(count * sizeof(T));
      call.reduction.into = allocate(count * sizeof(T));
      inputs_.push_back({call.input, call.from, count * sizeof(T)});
      outputs_.push_back(call.to);
    }
    std::vector<PeerSignals*> signals;
    for (int rank = 0; rank < ranks; ++rank)
      signals.push_back(reinterpret_cast<PeerSignals*>(allocate(sizeof(PeerSignals))));
    for (int rank = 0; rank < ranks; ++rank) {
      PeerAllReduce& call = calls[static_cast<size_t>(rank)];
      call.place.stop = stop_;
      call.place.timeouts = timeouts_;
      call.place.patience_ns = 5'000'000'000;
      call.place.rank = rank;
      call.place.ranks = ranks;
      call.count = count;
      call.reduction.count = count;
      call.reduction.array_count = ranks;
      call.reduction.second_half = ranks;
      call.tile_elements = uint64_t{16} * 1024;
      call.blocks = blocks_;
      call.one_shot = way_ == Way::one_shot;
      for (int peer = 0; peer < ranks; ++peer) {
        const PeerAllReduce& other = calls[static_cast<size_t>(peer)];
        call.place.signals[peer] = signals[static_cast<size_t>(peer)];
        call.reduction.arrays[peer] = other.input;
        call.results[peer] = other.reduction.into;
      }
    }
    calls_ = reinterpret_cast<PeerAllReduce*>(allocate(calls.size() * sizeof(PeerAllReduce)));
    check_cuda(cudaMemcpy(calls_, calls.data(), calls.size() * sizeof(PeerAllReduce),
                          cudaMemcpyHostToDevice),
               "cudaMemcpy");
    for (int rank = 0; rank < ranks; ++rank)
      check_cuda(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags");
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    for (cudaStream_t stream : streams_)
      cudaStreamDestroy(stream);
    for (std::byte* memory : memory_)
      cudaFree(memory);
    cudaFreeHost(stop_);
    cudaFreeHost(timeouts_);
  }

  void launch_as_one() {
    if (way_ == Way::parts) {
      for (const Copy& copy : inputs_)
        check_cuda(cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDeviceToDevice,
                                   streams_.front()),
                   "cudaMemcpyAsync");
    }
    void* arguments[] = {&calls_};
    const auto kernel = way_ == Way::parts ? run_parts<T> : run_ranks<T>;
    const dim3 grid(static_cast<unsigned>(blocks_), static_cast<unsigned>(ranks_));
    check_cuda(cudaLaunchCooperativeKernel(kernel, grid, dim3(threads_per_block), arguments, 0,
                                           streams_.front()),
               "cudaLaunchCooperativeKernel");
  }
  void launch_on_streams() {
    for (int rank = 0; rank < ranks_; ++rank) {
      run_ranks<T><<<static_cast<unsigned>(blocks_), threads_per_block, 0,
                     streams_[static_cast<size_t>(rank)]>>>(calls_ + rank);
      check_cuda(cudaGetLastError(), "a launch");
    }
  }
  void wait() {
    for (cudaStream_t stream : streams_)
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  uint64_t differences() {
    uint64_t different = 0;
    std::vector<T> output(count_);
    for (std::byte* const from : outputs_) {
      check_cuda(cudaMemcpy(output.data(), from, count_ * sizeof(T), cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
      for (uint64_t i = 0; i < count_; ++i) {
        float sum = 0;
        for (int rank = 0; rank < ranks_; ++rank)
          sum += input_at(rank, i);
        T expected;
        put(sum, expected);
        if (std::memcmp(&expected, &output[i], sizeof expected) != 0) ++different;
      }
    }
    return different;
  }

 private:
  struct Copy {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
  };
  std::byte* allocate(size_t bytes) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    check_cuda(cudaMemset(memory, 0, bytes), "cudaMemset");
    memory_.push_back(static_cast<std::byte*>(memory));
    return memory_.back();
  }
  std::byte* upload(int rank) {
    std::vector<T> values(count_);
    for (uint64_t i = 0; i < count_; ++i)
      put(input_at(rank, i), values[i]);
    std::byte* const to = allocate(count_ * sizeof(T));
    check_cuda(cudaMemcpy(to, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
               "cudaMemcpy");
    return to;
  }

  int ranks_;
  int blocks_;
  uint64_t count_;
  Way way_;
  uint32_t* stop_ = nullptr;
  PeerTimeout* timeouts_ = nullptr;
  PeerAllReduce* calls_ = nullptr;
  std::vector<std::byte*> memory_ = {};
  std::vector<Copy> inputs_ = {};  ///< that vLLM's schedule needs before its launch
  std::vector<std::byte*> outputs_ = {};
  std::vector<cudaStream_t> streams_ = {};
};

/// Runs some rounds, prints their time, and returns the elements that differ.
template <class T>
uint64_t check(bool as_one, Shape shape, const char* type) {
  int multiprocessors = 0;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
             "cudaDeviceGetAttribute");
  // All blocks must run at once, and one fits on each multiprocessor.
  const int blocks = multiprocessors / shape.ranks;
  shape.blocks = blocks < peer_blocks_max ? blocks : 36;
  Ranks<T> ranks(shape);
  const auto launch = [&] { as_one ? ranks.launch_as_one() : ranks.launch_on_streams(); };
  launch();
  ranks.wait();
  const uint64_t begin = peer_clock_ns();
  for (int i = 0; i < rounds; ++i)
    launch();
  ranks.wait();
  const double us = static_cast<double>(peer_clock_ns() - begin) / 1000 / rounds;
  const uint64_t different = ranks.differences();
  std::printf("| %d | %s | %llu | %s | %d | %.1f us | %llu |\n", shape.ranks, type,
              static_cast<unsigned long long>(shape.count), name_of(shape.way), shape.blocks, us,
              static_cast<unsigned long long>(different));
  return different;
}

int run(bool as_one) {
  find_gpu();
  std::printf("| ranks | type | elements | way | blocks a rank | time | elements that differ |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  uint64_t different = 0;
  for (const int ranks : {2, 4, 8}) {
    for (const uint64_t count : {uint64_t{1024}, uint64_t{1} << 20, uint64_t{1} << 24}) {
      for (const Way way : {Way::two_shot, Way::one_shot, Way::parts}) {
        // The others need other memory than the call before, unless the launches follow each other.
        if (way != Way::two_shot && !as_one) continue;
        const Shape shape = {.ranks = ranks, .count = count, .way = way};
        different += check<float>(as_one, shape, "float32");
        different += check<BFloat16>(as_one, shape, "bfloat16");
      }
    }
  }
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace dt

int main(int count, char** words) {
  const std::string what = count == 2 ? words[1] : "";
  if (what == "one" || what == "streams") return dt::run(what == "one");
  std::fprintf(stderr, "usage: peer_check one|streams\n");
  return 2;
}

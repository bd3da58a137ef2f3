// The host's cost of an all_reduce of 64 fused tensors on a device. It has a plan, and parameters
// of the two kernels that pack and unpack. On a device of the CPU, they are queued, too.
#include "comm/device/nccl_plan.h"
#include "gpu/cpu/cpu_device.h"
#include "gpu/kernels/copy_arguments.h"

#include <benchmark/benchmark.h>

#include <vector>

namespace dt {
namespace {

constexpr size_t tensors = 64;
constexpr size_t elements = 256;
constexpr CallingRank self = {.rank = 0, .size = 2};

/// Tensors in memory of a CPU device.
struct Fused {
  Fused() {
    for (size_t i = 0; i < tensors; ++i) {
      std::byte* const at = memory.at() + i * elements * sizeof(float);
      parts.push_back({.count = elements,
                       .input = at,
                       .input_count = elements,
                       .output = at,
                       .output_count = elements});
    }
  }
  NcclPlan plan() const { return plan_together(parts, self, packed.at()); }

  DeviceList devices = open_cpu_devices({.count = 1}).value();
  std::unique_ptr<DeviceStream> stream = devices[0]->make_stream().value();
  DeviceBuffer memory = devices[0]->allocate(tensors * elements * sizeof(float)).value();
  DeviceBuffer packed = devices[0]->allocate(tensors * elements * sizeof(float)).value();
  std::vector<NcclPart> parts = {};
};

void plan_of_64_tensors(benchmark::State& state) {
  const Fused fused;
  for (auto _ : state)
    benchmark::DoNotOptimize(fused.plan());
}
BENCHMARK(plan_of_64_tensors);

/// As CudaStream::copy_pieces() before a launch.
void plan_and_parameters_of_64_tensors(benchmark::State& state) {
  const Fused fused;
  for (auto _ : state) {
    const NcclPlan plan = fused.plan();
    for (const CopyBatch* const batch : {&plan.before.front(), &plan.after.front()}) {
      benchmark::DoNotOptimize(check(*batch));
      const std::vector<CopyPiece> pieces = launchable_pieces(*batch);
      benchmark::DoNotOptimize(copy_arguments<few_copy_items>(*batch, pieces));
    }
  }
}
BENCHMARK(plan_and_parameters_of_64_tensors);

/// The part of the caller's thread. The stream's thread copies meanwhile.
void plan_and_queue_of_64_tensors(benchmark::State& state) {
  const Fused fused;
  for (auto _ : state) {
    const NcclPlan plan = fused.plan();
    benchmark::DoNotOptimize(fused.stream->copy_pieces(plan.before.front()));
    benchmark::DoNotOptimize(fused.stream->copy_pieces(plan.after.front()));
    state.PauseTiming();
    benchmark::DoNotOptimize(fused.stream->synchronize(Clock::now() + seconds(60)));
    state.ResumeTiming();
  }
}
BENCHMARK(plan_and_queue_of_64_tensors);

}  // namespace
}  // namespace dt

// Random programs on memory of CPU devices, with faults, in real time. Each rank is a thread with a
// real context, and each stream of its device is another one. NCCL is the fake one.
#include "tests/sim/device_plan.h"
#include "tests/sim/device_rank.h"
#include "tests/sim/seeds.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace dt {
namespace {

void set_variables(const DevicePlan& plan) {
  setenv("DTRAIN_CPU_DEVICES", "1", 1);
  setenv("DTRAIN_NCCL_LIB", FAKE_NCCL, 1);
  setenv("DTRAIN_DEVICE_COLLECTIVES", plan.collectives.c_str(), 1);
  setenv("DTRAIN_PEER_MAX", plan.peer_max.c_str(), 1);
  setenv("DTRAIN_GPU_SHARE", plan.share ? "1" : "0", 1);
  setenv("FAKE_NCCL", plan.nccl.c_str(), 1);
}

/// Runs the plan. Returns the first broken promise.
std::string complaint_of(DeviceRun& run) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < run.plan.size; ++rank) {
    threads.emplace_back([&run, rank] {
      try {
        ProgramRank(run, rank).perform();
      } catch (const std::exception& error) {
        run.complain(format("rank {} throws: {}", rank, error.what()));
      }
      run.note_end(rank);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return run.complaint();
}

TEST_CASE("every call on memory of devices ends with the right result, or with an error") {
  const auto [first, seeds] = chosen_seeds();
  uint64_t by_nccl = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const DevicePlan plan = device_plan(seed);
    set_variables(plan);
    DeviceRun run(plan);
    const std::string complaint = complaint_of(run);
    CHECK_MESSAGE(complaint.empty(), complaint);
    by_nccl += run.nccl_executed ? 1 : 0;
  }
  if (seeds > 1) CHECK(by_nccl > seeds / 5);
}

}  // namespace
}  // namespace dt

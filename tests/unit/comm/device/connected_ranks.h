#pragma once

#include "comm/device/nccl_connection.h"
#include "gpu/devices/device_places.h"
#include "tests/unit/comm/device/test_store.h"
#include "tests/unit/gpu/cpu_devices.h"
#include "tests/unit/gpu/nccl/fake_nccl_world.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace dt {

/// Ranks with a device of the CPU each, over the fake NCCL that `words` describe. Kernels of ours
/// sum up to `peer_max`; empty: the ranks find the limit. Calls of the devices go to `watch` first.
struct ConnectedRanks {
  explicit ConnectedRanks(int size, const char* words = "", bool required = false,
                          const char* peer_max = "0", const CallProbe& watch = {})
      : world(words),
        cpu({.count = size, .probe = [this, watch](const ProbedCall& call) -> Result<> {
               if (watch) TRY(watch(call));
               const bool computes =
                   call.call == DeviceCall::copy || call.call == DeviceCall::reduce;
               const bool fails = breaks && call.runs && computes;
               return fails ? Result<>(fail(Errc::os, "broken")) : Result<>();
             }}) {
    for (int rank = 0; rank < size; ++rank) {
      auto opened = open_device_at(*find_device_place(
          memory
              .emplace_back(on_device(cpu.stream(static_cast<size_t>(rank)),
                                      std::vector<float>(3, static_cast<float>(rank) + 1)))
              .at()));
      devices.push_back(StagingDevice::open(std::move(opened).value()).value());
    }
    for (int rank = 0; rank < size; ++rank) {
      ranks.push_back(NcclConnection::start({.self = {.rank = rank, .size = size},
                                             .host = "a",
                                             .device = devices[static_cast<size_t>(rank)],
                                             .requires_nccl = required,
                                             .environment = {{"DTRAIN_CPU_DEVICES", "1"},
                                                             {"DTRAIN_NCCL_LIB", FAKE_NCCL},
                                                             {"DTRAIN_PEER_MAX", peer_max}},
                                             .store = store.use()}));
    }
  }
  ConnectedRanks(const ConnectedRanks&) = delete;
  ConnectedRanks& operator=(const ConnectedRanks&) = delete;
  ~ConnectedRanks() {
    store.close();
    for (const auto& rank : ranks)
      rank->close();
  }

  /// Returns the way of a rank when it is decided.
  NcclConnection::Way decided(size_t rank) const {
    while (ranks[rank]->way() == NcclConnection::Way::undecided)
      std::this_thread::yield();
    return ranks[rank]->way();
  }
  /// A sum of each rank's three numbers, in place.
  std::shared_ptr<NcclTask> sum(size_t rank) const {
    auto task = std::make_shared<NcclTask>();
    task->part = {.count = 3,
                  .input = memory[rank].at(),
                  .input_count = 3,
                  .output = memory[rank].at(),
                  .output_count = 3};
    return task;
  }

  mutable std::atomic<bool> breaks = false;  ///< the next copy or reduction breaks its device
  FakeNcclWorld world;
  CpuDevices cpu;
  TestStore store;
  std::vector<DeviceBuffer> memory = {};
  std::vector<std::shared_ptr<StagingDevice>> devices = {};
  std::vector<std::shared_ptr<NcclConnection>> ranks = {};
};

}  // namespace dt

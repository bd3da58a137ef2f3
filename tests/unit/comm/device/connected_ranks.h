#pragma once

#include "comm/device/nccl_connection.h"
#include "gpu/devices/device_places.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace dt {

/// A store for the threads of this process. Waits end when it is closed.
class TestStore {
 public:
  NcclConnection::Store use() {
    return {.set = [this](const std::string& key, const Bytes& value) -> Result<> {
              const std::lock_guard lock(mutex_);
              values_[key] = value;
              changed_.notify_all();
              return {};
            },
            .wait = [this](const std::string& key, Duration limit) -> Result<Bytes> {
              std::unique_lock lock(mutex_);
              const auto there = [&] { return closed_ || values_.contains(key); };
              if (limit == Duration::zero()) {
                changed_.wait(lock, there);
              } else if (!changed_.wait_for(lock, limit, there)) {
                return fail(Errc::timeout, "no such key");
              }
              if (!closed_) return values_[key];
              return fail(Errc::peer_lost, "rank 7 died");
            }};
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::map<std::string, Bytes> values_;
};

/// Ranks with a device of the CPU each, over the fake NCCL that `words` describe.
struct ConnectedRanks {
  explicit ConnectedRanks(int size, const char* words = "", bool required = false)
      : cpu({.count = size, .probe = [this](const ProbedCall& call) -> Result<> {
               const bool computes =
                   call.call == DeviceCall::copy || call.call == DeviceCall::reduce;
               const bool fails = breaks && call.runs && computes;
               return fails ? Result<>(fail(Errc::os, "broken")) : Result<>();
             }}) {
    setenv("FAKE_NCCL", words, 1);
    for (int rank = 0; rank < size; ++rank) {
      auto opened = open_device_at(*find_device_place(
          memory
              .emplace_back(on_device(cpu.stream(static_cast<size_t>(rank)),
                                      std::vector<float>(3, static_cast<float>(rank) + 1)))
              .at()));
      devices.push_back(StagingDevice::open(std::move(opened).value()).value());
    }
    for (int rank = 0; rank < size; ++rank) {
      ranks.push_back(NcclConnection::start(
          {.self = {.rank = rank, .size = size},
           .host = "a",
           .device = devices[static_cast<size_t>(rank)],
           .requires_nccl = required,
           .environment = {{"DTRAIN_CPU_DEVICES", "1"}, {"DTRAIN_NCCL_LIB", FAKE_NCCL}},
           .store = store.use()}));
    }
  }
  ConnectedRanks(const ConnectedRanks&) = delete;
  ConnectedRanks& operator=(const ConnectedRanks&) = delete;
  ~ConnectedRanks() {
    store.close();
    for (const auto& rank : ranks)
      rank->close();
    unsetenv("FAKE_NCCL");
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
  CpuDevices cpu;
  TestStore store;
  std::vector<DeviceBuffer> memory = {};
  std::vector<std::shared_ptr<StagingDevice>> devices = {};
  std::vector<std::shared_ptr<NcclConnection>> ranks = {};
};

}  // namespace dt

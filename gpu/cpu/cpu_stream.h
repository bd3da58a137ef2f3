#pragma once

#include "gpu/cpu/command_queue.h"
#include "gpu/cpu/cpu_accesses.h"
#include "gpu/cpu/cpu_event.h"
#include "gpu/device.h"

#include <memory>
#include <string_view>
#include <thread>

namespace dt {

/// A stream of a CPU device: a thread that runs queued calls in their order. The caller's thread
/// checks arguments; the stream's thread computes. They share the queue and the count of calls
/// that have run.
///
///   caller ── StreamCommand ▶ CommandQueue ▶ stream's thread ── CpuProgress ▶ synchronize()
class CpuStream final : public DeviceStream {
 public:
  /// Fails with Errc::os when no thread can be started.
  static Result<std::unique_ptr<DeviceStream>> start(Device& device,
                                                     const std::shared_ptr<CpuWorld>& world);
  ~CpuStream() override;

  Device& device() const override { return device_; }
  Result<DeviceBuffer> allocate(size_t bytes) override;
  Result<> copy(const MemoryCopy& copy) override;
  Result<> copy_pieces(const CopyBatch& batch) override;
  Result<> fill(std::byte* to, std::byte value, size_t bytes) override;
  Result<> reduce(const ArrayReduction& reduction) override;
  Result<> sum_peers(ElementType type, const PeerAllReduce& call) override;
  Result<> write_value(uint32_t* at, uint32_t value) override;
  Result<> wait_value(const uint32_t* at, uint32_t value) override;
  Result<> run_on_host(std::function<void()> function) override;
  Result<> record(DeviceEvent& event) override;
  Result<> wait(const DeviceEvent& event) override;
  Result<bool> done() const override;
  Result<> synchronize(Time deadline) override;

 private:
  CpuStream(Device& device, std::shared_ptr<CpuWorld> world)
      : device_(device), world_(std::move(world)), index_(device.index()) {}
  Result<> start_thread();
  /// Checks that the call may be made: no failure of the device, none from the probe.
  Result<> begin(DeviceCall call) const;
  void enqueue(StreamCommand command);
  CpuMemory::Allocation memory_of(const uint32_t* number) const;
  /// Returns `why` with the device and the call before it.
  tl::unexpected<Error> refuse(DeviceCall call, Error why) const;

  /// Runs on the stream's thread.
  void run_all();
  void run(const StreamCommand& command);

  Device& device_;
  std::shared_ptr<CpuWorld> world_;
  int index_;  ///< of the device
  CommandQueue queue_;
  CpuProgress finished_;    ///< calls that have run
  uint64_t submitted_ = 0;  ///< calls that were queued
  std::thread thread_;
};

}  // namespace dt

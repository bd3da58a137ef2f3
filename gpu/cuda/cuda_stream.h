#pragma once

#include "gpu/cuda/cuda_state.h"
#include "gpu/device.h"

#include <list>
#include <memory>
#include <mutex>

namespace dt {

/// A stream of CUDA that does not wait for the program's default stream. A copy from or to pageable
/// memory may wait until it has run.
class CudaStream final : public DeviceStream {
 public:
  using Handle = void*;  ///< cudaStream_t

  static Result<std::unique_ptr<DeviceStream>> make(Device& device,
                                                    std::shared_ptr<CudaState> state);
  ~CudaStream() override;

  Device& device() const override { return device_; }
  void* native() const override { return handle_; }
  Result<> copy(const MemoryCopy& copy) override;
  Result<> copy_pieces(const CopyBatch& batch) override;
  Result<> fill(std::byte* to, std::byte value, size_t bytes) override;
  Result<> reduce(const ArrayReduction& reduction) override;
  Result<> run_on_host(std::function<void()> function) override;
  Result<> record(DeviceEvent& event) override;
  Result<> wait(const DeviceEvent& event) override;
  Result<bool> done() const override;
  Result<> synchronize(Time deadline) override;

 private:
  /// Functions that were not run yet. A device that fails does not run them.
  struct HostFunctions {
    std::mutex mutex;
    std::list<std::function<void()>> waiting;
  };
  struct HostCall {
    HostFunctions* functions;
    std::list<std::function<void()>>::iterator function;
  };

  CudaStream(Device& device, std::shared_ptr<CudaState> state, Handle handle)
      : device_(device), state_(std::move(state)), handle_(handle) {}
  Result<> launch(const void* kernel, uint64_t blocks, void* arguments, const char* call);
  template <int capacity>
  Result<> launch_copy(const CopyBatch& batch, const std::vector<CopyPiece>& pieces, size_t begin);
  /// Returns `why` with the device and the call before it.
  tl::unexpected<Error> refuse(const char* call, Error why) const;
  static void run_host_call(void* call);

  Device& device_;
  std::shared_ptr<CudaState> state_;
  Handle handle_;
  HostFunctions functions_ = {};
};

}  // namespace dt

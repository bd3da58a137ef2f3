#pragma once

#include "gpu/cuda/cuda_state.h"
#include "gpu/device.h"

#include <list>
#include <memory>
#include <mutex>

namespace dt {

/// A stream of CUDA that does not wait for the program's default stream, or one that the program
/// has made. A copy from or to pageable memory may wait until it has run.
class CudaStream final : public DeviceStream {
 public:
  using Handle = void*;  ///< cudaStream_t

  static Result<std::unique_ptr<DeviceStream>> make(Device& device,
                                                    std::shared_ptr<CudaState> state);
  /// A stream of the program, which destroys it itself.
  static Result<std::shared_ptr<DeviceStream>> adopt(Device& device,
                                                     std::shared_ptr<CudaState> state,
                                                     Handle handle);
  ~CudaStream() override;

  Device& device() const override { return device_; }
  void* native() const override { return handle_; }
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
  /// Functions that were not run yet. A device that fails does not run them. An adopted stream may
  /// run them after its CudaStream has gone.
  struct HostFunctions {
    std::mutex mutex;
    std::list<std::function<void()>> waiting;
  };
  struct HostCall {
    std::shared_ptr<HostFunctions> functions;
    std::list<std::function<void()>>::iterator function;
  };

  CudaStream(Device& device, std::shared_ptr<CudaState> state, Handle handle, bool owned)
      : device_(device), state_(std::move(state)), handle_(handle), owned_(owned) {}
  Result<> launch(const void* kernel, uint64_t blocks, void* arguments, const char* call);
  template <int capacity>
  Result<> launch_copy(const CopyBatch& batch, const std::vector<CopyPiece>& pieces, size_t begin);
  /// Returns `why` with the device and the call before it.
  tl::unexpected<Error> refuse(const char* call, Error why) const;
  static void run_host_call(void* call);

  Device& device_;
  std::shared_ptr<CudaState> state_;
  Handle handle_;
  bool owned_;
  std::shared_ptr<HostFunctions> functions_ = std::make_shared<HostFunctions>();
};

}  // namespace dt

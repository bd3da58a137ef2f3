#pragma once

#include "gpu/cuda/cuda_state.h"
#include "gpu/device.h"

#include <memory>

namespace dt {

/// Returns memory of cudaMalloc() or cudaMallocAsync() as one that its destructor frees.
DeviceBuffer cuda_buffer(std::shared_ptr<CudaState> state, void* memory, size_t bytes);

/// A GPU, by CUDA's runtime. It uses the primary context, as PyTorch, JAX and NCCL do. So it can
/// share streams and memory of the process with them.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<CudaState> state) : state_(std::move(state)) {}

  int index() const override { return state_->index(); }
  std::string name() const override { return state_->name(); }
  std::string model() const override;
  std::string uuid() const override;
  std::shared_ptr<void> make_current() const override {
    return std::make_shared<CurrentCudaDevice>(*state_);
  }
  DeviceMemory memory() const override;
  Result<> status() const override { return state_->status(); }
  bool can_access(const Device& peer) const override;
  MemoryPlace place_of(const std::byte* address) const override;
  Result<DeviceBuffer> allocate(size_t bytes) override;
  Result<DeviceBuffer> allocate_pinned(size_t bytes) override;
  Result<DeviceBuffer> allocate_shared(size_t bytes) override;
  Result<Bytes> share(const DeviceBuffer& shared) const override;
  Result<DeviceBuffer> open_shared(ByteSpan handle) override;
  Result<> load_kernels() override;
  Result<int> prepare_peers() override;
  Result<std::unique_ptr<DeviceStream>> make_stream() override;
  Result<std::shared_ptr<DeviceStream>> stream_at(void* handle) override;
  Result<std::unique_ptr<DeviceEvent>> make_event() override;

 private:
  std::shared_ptr<CudaState> state_;
};

}  // namespace dt

#pragma once

#include "gpu/cuda/cuda_state.h"
#include "gpu/device.h"

#include <memory>

namespace dt {

/// An event of CUDA, without time stamps.
class CudaEvent final : public DeviceEvent {
 public:
  using Handle = void*;  ///< cudaEvent_t

  static Result<std::unique_ptr<CudaEvent>> make(std::shared_ptr<CudaState> state);
  ~CudaEvent() override;

  Result<bool> done() const override;
  Result<> synchronize(Time deadline) const override;

  int device() const { return state_->index(); }
  Handle handle() const { return handle_; }

 private:
  CudaEvent(std::shared_ptr<CudaState> state, Handle handle)
      : state_(std::move(state)), handle_(handle) {}

  std::shared_ptr<CudaState> state_;
  Handle handle_;
};

}  // namespace dt

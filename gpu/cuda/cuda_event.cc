#include "gpu/cuda/cuda_event.h"

#include "base/format.h"

#include <cuda_runtime_api.h>

#include <thread>

namespace dt {

Result<std::unique_ptr<CudaEvent>> CudaEvent::make(std::shared_ptr<CudaState> state) {
  cudaEvent_t handle = nullptr;
  TRY(state->run("make_event",
                 [&] { return cudaEventCreateWithFlags(&handle, cudaEventDisableTiming); }));
  return std::unique_ptr<CudaEvent>(new CudaEvent(std::move(state), handle));
}

CudaEvent::~CudaEvent() {
  (void)state_->run("an event",
                    [&] { return cudaEventDestroy(static_cast<cudaEvent_t>(handle_)); });
}

Result<bool> CudaEvent::done() const {
  TRY(state_->status());
  return state_->ask("an event", [&] { return cudaEventQuery(static_cast<cudaEvent_t>(handle_)); });
}

Result<> CudaEvent::synchronize(Time deadline) const {
  // CUDA's own wait has no deadline.
  while (!TRY(done())) {
    if (Clock::now() >= deadline) {
      return fail(Errc::timeout, format("{}: an event was not reached in time", state_->name()));
    }
    std::this_thread::yield();
  }
  return {};
}

}  // namespace dt

#include "gpu/cuda/cuda_state.h"

#include "base/format.h"
#include "gpu/cuda/driver_function.h"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace dt {

namespace {

/// True for failures of a kernel or of the hardware. CUDA reports them by any later call, and the
/// process can use the device no more.
bool is_final(cudaError_t status) {
  // Numbers of errors that older toolkits do not name.
  constexpr int contained = 226;
  constexpr int tensor_memory_leak = 721;
  constexpr int mps_client_terminated = 810;
  constexpr int external_device = 911;
  switch (static_cast<int>(status)) {
    case contained:
    case tensor_memory_leak:
    case mps_client_terminated:
    case external_device:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
      return true;
    default:
      return false;
  }
}

Errc code_of(cudaError_t status) {
  if (status == cudaErrorMemoryAllocation) return Errc::out_of_memory;
  if (status == cudaErrorInvalidValue) return Errc::input;
  if (status == cudaErrorNotSupported) return Errc::unsupported;
  return Errc::os;
}

}  // namespace

std::string CudaState::name() const {
  return format("cuda:{}", index_);
}

Result<> CudaState::status() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

Result<> CudaState::check(int status, std::string_view call) {
  const auto error = static_cast<cudaError_t>(status);
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // else a later check of a launch finds it again
  const std::string text = format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
  if (!is_final(error)) return fail(code_of(error), format("{}: {}: {}", name(), call, text));
  const std::lock_guard lock(mutex_);
  if (!failure_) {
    failure_ = Error{Errc::os, format("{}: work failed on the GPU, dtrain's or the program's: {}; "
                                      "compute-sanitizer finds the kernel",
                                      name(), text)};
  }
  return tl::unexpected(*failure_);
}

Result<> CudaState::make_context() {
  int device = 0;
  void* context = nullptr;
  void* const get_function = TRY(driver_function("cuDeviceGet"));
  void* const retain_function = TRY(driver_function("cuDevicePrimaryCtxRetain"));
  void* const push_function = TRY(driver_function("cuCtxPushCurrent"));
  void* const pop_function = TRY(driver_function("cuCtxPopCurrent"));
  void* const attribute_function = TRY(driver_function("cuPointerGetAttribute"));
  const auto get = reinterpret_cast<int (*)(int*, int)>(get_function);
  const auto retain = reinterpret_cast<int (*)(void**, int)>(retain_function);
  // The driver's numbers of errors are the runtime's.
  int status = get(&device, index_);
  if (status == cudaSuccess) status = retain(&context, device);
  if (status == cudaErrorDevicesUnavailable)
    return fail(Errc::os, name() + ": another process uses it, in exclusive mode; see nvidia-smi");
  if (status != cudaSuccess) {
    const auto error = static_cast<cudaError_t>(status);
    return fail(code_of(error), format("{}: it cannot be used: {} ({})", name(),
                                       cudaGetErrorString(error), cudaGetErrorName(error)));
  }
  context_ = context;
  push_ = reinterpret_cast<int (*)(void*)>(push_function);
  pop_ = reinterpret_cast<int (*)(void**)>(pop_function);
  pointer_attribute_ =
      reinterpret_cast<int (*)(void*, int, unsigned long long)>(attribute_function);
  return {};
}

Result<> CudaState::enter() {
  const std::lock_guard lock(mutex_);
  if (context_ == nullptr) TRY(make_context());
  const int status = push_(context_);
  if (status == cudaSuccess) return {};
  return fail(Errc::os, format("{}: it cannot be made current: {}", name(),
                               cudaGetErrorString(static_cast<cudaError_t>(status))));
}

void CudaState::leave() const {
  void* context = nullptr;
  pop_(&context);
}

int CudaState::ready_status(int status, bool& ready) {
  if (status != cudaErrorNotReady) return status;
  cudaGetLastError();  // else the program finds it behind its own next launch
  ready = false;
  return cudaSuccess;
}

bool CudaState::can_access(int peer) {
  if (peer == index_) return true;
  const auto at = static_cast<size_t>(peer);
  {
    const std::lock_guard lock(mutex_);
    if (peers_[at]) return *peers_[at];
  }
  int possible = 0;
  const Result<> enabled = run("can_access", [&] {
    const cudaError_t asked = cudaDeviceCanAccessPeer(&possible, index_, peer);
    if (asked != cudaSuccess || possible == 0) return asked;
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    if (status != cudaErrorPeerAccessAlreadyEnabled) return status;
    cudaGetLastError();  // the program has enabled it; such a status stays behind unless it is read
    return cudaSuccess;
  });
  const std::lock_guard lock(mutex_);
  peers_[at] = enabled && possible != 0;
  return *peers_[at];
}

bool CudaState::is_for_peers(const void* address) const {
  // Memory that can be shared by CUDA's older way is that of cudaMalloc(), which peers can use.
  constexpr int is_legacy_ipc_capable = 10;
  unsigned capable = 0;
  const auto at = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
  return pointer_attribute_(&capable, is_legacy_ipc_capable, at) == cudaSuccess && capable != 0;
}

const Result<StreamMemory>& CudaState::stream_memory() {
  std::call_once(asked_for_memory_, [this] { memory_ = find_stream_memory(); });
  return memory_;
}

Result<unsigned> CudaState::resident_blocks(const void* kernel, unsigned threads) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = resident_blocks_.find(kernel);
    if (found != resident_blocks_.end()) return found->second;
  }
  int blocks = 0;
  TRY(run("load a kernel", [&] {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                         0);
  }));
  if (blocks < 1) return fail(Errc::unsupported, name() + ": a block of a kernel does not fit");
  const std::lock_guard lock(mutex_);
  return resident_blocks_[kernel] = static_cast<unsigned>(blocks);
}

CurrentCudaDevice::CurrentCudaDevice(CudaState& state) : state_(state), entered_(state.enter()) {
  if (!entered_) return;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  capture_mode_ = mode;
}

CurrentCudaDevice::~CurrentCudaDevice() {
  if (!entered_) return;
  auto mode = static_cast<cudaStreamCaptureMode>(capture_mode_);
  cudaThreadExchangeStreamCaptureMode(&mode);
  state_.leave();
}

}  // namespace dt

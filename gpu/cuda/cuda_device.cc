#include "gpu/cuda/cuda_device.h"

#include "base/format.h"
#include "gpu/cuda/cuda_event.h"
#include "gpu/cuda/cuda_stream.h"
#include "gpu/cuda/open_cuda.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/peer_signals.cuh"
#include "gpu/list.h"
#include "gpu/no_gpu.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace dt {

std::string CudaDevice::uuid() const {
  cudaDeviceProp properties = {};
  if (!state_->check(cudaGetDeviceProperties(&properties, index()), "uuid")) return {};
  return gpu_uuid_text({properties.uuid.bytes, sizeof properties.uuid.bytes});
}

std::string CudaDevice::model() const {
  cudaDeviceProp properties = {};
  if (!state_->check(cudaGetDeviceProperties(&properties, index()), "model")) return {};
  return properties.name;
}

DeviceMemory CudaDevice::memory() const {
  const CurrentCudaDevice current(index());
  DeviceMemory memory;
  const auto asked =
      state_->check(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes), "memory");
  return asked ? memory : DeviceMemory();
}

bool CudaDevice::can_access(const Device& peer) const {
  const auto* const other = dynamic_cast<const CudaDevice*>(&peer);
  if (other == nullptr) return false;
  return other->index() == index() || state_->peers[static_cast<size_t>(other->index())];
}

MemoryPlace CudaDevice::place_of(const std::byte* address) const {
  cudaPointerAttributes attributes = {};
  const auto asked = state_->check(cudaPointerGetAttributes(&attributes, address), "place_of");
  if (!asked) return {};
  if (attributes.type == cudaMemoryTypeHost) return {.kind = MemoryPlace::Kind::pinned};
  if (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged)
    return {.kind = MemoryPlace::Kind::device, .device = attributes.device};
  return {};
}

Result<DeviceBuffer> CudaDevice::allocate(size_t bytes) {
  TRY(status());
  if (bytes == 0) return DeviceBuffer();
  const CurrentCudaDevice current(index());
  void* memory = nullptr;
  TRY(state_->check(cudaMalloc(&memory, bytes), "allocate"));
  std::shared_ptr<void> owner(memory, [](void* freed) { cudaFree(freed); });
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), bytes);
}

Result<DeviceBuffer> CudaDevice::allocate_pinned(size_t bytes) {
  TRY(status());
  if (bytes == 0) return DeviceBuffer();
  const CurrentCudaDevice current(index());
  void* memory = nullptr;
  TRY(state_->check(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                    "allocate_pinned"));
  std::shared_ptr<void> owner(memory, [](void* freed) { cudaFreeHost(freed); });
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), bytes);
}

/// Whole pages, so that CUDA shares no other memory of the program with it.
Result<DeviceBuffer> CudaDevice::allocate_shared(size_t bytes) {
  constexpr size_t page = size_t{2} << 20;
  return allocate((bytes + page - 1) / page * page);
}

Result<Bytes> CudaDevice::share(const DeviceBuffer& shared) const {
  const CurrentCudaDevice current(index());
  cudaIpcMemHandle_t handle = {};
  TRY(state_->check(cudaIpcGetMemHandle(&handle, shared.at()), "share"));
  Writer writer;
  writer.number(static_cast<uint64_t>(shared.bytes()))
      .raw(std::as_bytes(std::span(handle.reserved)));
  return writer.take();
}

Result<DeviceBuffer> CudaDevice::open_shared(ByteSpan bytes) {
  TRY(status());
  Reader reader(bytes);
  const auto size = reader.number<uint64_t>();
  cudaIpcMemHandle_t handle = {};
  const ByteSpan raw = reader.raw(sizeof handle.reserved);
  TRY(reader.finish("handle of memory of a GPU"));
  std::memcpy(handle.reserved, raw.data(), raw.size());
  const CurrentCudaDevice current(index());
  void* memory = nullptr;
  TRY(state_->check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess),
                    "open_shared"));
  std::shared_ptr<void> owner(memory, [device = index()](void* opened) {
    const CurrentCudaDevice its(device);
    cudaIpcCloseMemHandle(opened);
  });
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), size);
}

/// One block a multiprocessor. Other kernels may hold these for a while. But block b waits for
/// block b of the peers only.
Result<int> CudaDevice::prepare_peers() {
  const CurrentCudaDevice current(index());
  for (size_t i = 0; i < element_type_count; ++i) {
    const KernelFunction kernel = peer_sum_kernel(static_cast<ElementType>(i));
    if (kernel == nullptr) continue;
    int blocks = 0;
    TRY(state_->check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                          &blocks, kernel, static_cast<int>(peer_block_threads), 0),
                      "prepare_peers"));
    if (blocks < 1) return fail(Errc::unsupported, name() + ": a block of a kernel does not fit");
  }
  return static_cast<int>(std::min<unsigned>(state_->multiprocessors, peer_blocks_max));
}

Result<std::unique_ptr<DeviceStream>> CudaDevice::make_stream() {
  TRY(status());
  return CudaStream::make(*this, state_);
}

Result<std::shared_ptr<DeviceStream>> CudaDevice::stream_at(void* handle) {
  TRY(status());
  return CudaStream::adopt(*this, state_, handle);
}

Result<std::unique_ptr<DeviceEvent>> CudaDevice::make_event() {
  TRY(status());
  auto made = TRY(CudaEvent::make(state_));
  return std::unique_ptr<DeviceEvent>(std::move(made));
}

namespace {

/// Returns the number of GPUs, or the reason why there is no usable one.
Result<int> count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  CudaVersions versions = {.driver = 0, .runtime = CUDART_VERSION};
  cudaDriverGetVersion(&versions.driver);
  cudaGetLastError();
  const auto reason = no_gpu_reason(status == cudaSuccess ? cudaErrorNoDevice : status, versions);
  return fail(Errc::not_found,
              reason.value_or(std::string("no usable GPU: ") + cudaGetErrorString(status)));
}

/// Lets kernels of the device use memory of all others where the hardware can.
void enable_peers(CudaState& state, int count) {
  const CurrentCudaDevice current(state.index());
  for (int peer = 0; peer < count; ++peer) {
    int possible = 0;
    if (peer == state.index()) continue;
    if (cudaDeviceCanAccessPeer(&possible, state.index(), peer) != cudaSuccess || possible == 0)
      continue;
    const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
    // The program may have enabled it. Such a status stays behind unless it is read.
    if (status != cudaSuccess) cudaGetLastError();
    state.peers[static_cast<size_t>(peer)] =
        status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled;
  }
}

/// Returns the state of a device of `count`, whose kernels use its own memory only.
Result<std::shared_ptr<CudaState>> open_state(int index, int count) {
  auto state = std::make_shared<CudaState>(index);
  state->peers.assign(static_cast<size_t>(count), false);
  int multiprocessors = 0;
  TRY(state->check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, index),
                   "open"));
  state->multiprocessors = static_cast<unsigned>(multiprocessors);
  return state;
}

}  // namespace

int cuda_driver_version() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

Result<DeviceList> open_cuda_devices() {
  const int count = TRY(count_devices());
  DeviceList devices;
  for (int index = 0; index < count; ++index) {
    auto state = TRY(open_state(index, count));
    enable_peers(*state, count);
    devices.push_back(std::make_unique<CudaDevice>(std::move(state)));
  }
  return devices;
}

Result<std::unique_ptr<Device>> open_cuda_device(int index) {
  const int count = TRY(count_devices());
  if (index < 0 || index >= count)
    return fail(Errc::input, format("there is no cuda:{}; this process has {}", index, count));
  auto state = TRY(open_state(index, count));
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(std::move(state)));
}

}  // namespace dt

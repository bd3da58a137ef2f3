#include "gpu/cuda/cuda_device.h"

#include "base/format.h"
#include "gpu/cuda/cuda_event.h"
#include "gpu/cuda/cuda_stream.h"
#include "gpu/cuda/open_cuda.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/peer_signals.cuh"
#include "gpu/list.h"
#include "gpu/nccl/nccl_call.h"
#include "gpu/no_gpu.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace dt {

DeviceBuffer cuda_buffer(std::shared_ptr<CudaState> state, void* memory, size_t bytes) {
  std::shared_ptr<void> owner(memory, FreeMemory{[state = std::move(state)](void* freed) {
                                (void)state->run("free", [&] { return cudaFree(freed); });
                              }});
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), bytes);
}

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
  DeviceMemory memory;
  const auto asked = state_->run(
      "memory", [&] { return cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes); });
  return asked ? memory : DeviceMemory();
}

bool CudaDevice::can_access(const Device& peer) const {
  const auto* const other = dynamic_cast<const CudaDevice*>(&peer);
  return other != nullptr && state_->can_access(other->index());
}

MemoryPlace CudaDevice::place_of(const std::byte* address) const {
  cudaPointerAttributes attributes = {};
  const auto asked =
      state_->run("place_of", [&] { return cudaPointerGetAttributes(&attributes, address); });
  if (!asked) return {};
  if (attributes.type == cudaMemoryTypeHost) return {.kind = MemoryPlace::Kind::pinned};
  const bool managed = attributes.type == cudaMemoryTypeManaged;
  if (attributes.type != cudaMemoryTypeDevice && !managed) return {};
  const bool for_peers = managed || state_->is_for_peers(address);
  return {.kind = MemoryPlace::Kind::device,
          .device = attributes.device,
          .access = for_peers ? KernelAccess::peers : KernelAccess::own_device};
}

Result<DeviceBuffer> CudaDevice::allocate(size_t bytes) {
  TRY(status());
  if (bytes == 0) return DeviceBuffer();
  void* memory = nullptr;
  TRY(state_->run("allocate", [&] { return cudaMalloc(&memory, bytes); }));
  return cuda_buffer(state_, memory, bytes);
}

Result<DeviceBuffer> CudaDevice::allocate_pinned(size_t bytes) {
  TRY(status());
  if (bytes == 0) return DeviceBuffer();
  void* memory = nullptr;
  TRY(state_->run("allocate_pinned", [&] {
    return cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  }));
  std::shared_ptr<void> owner(memory, [state = state_](void* freed) {
    (void)state->run("free", [&] { return cudaFreeHost(freed); });
  });
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), bytes);
}

/// Whole pages, so that CUDA shares no other memory of the program with it.
Result<DeviceBuffer> CudaDevice::allocate_shared(size_t bytes) {
  constexpr size_t page = size_t{2} << 20;
  return allocate((bytes + page - 1) / page * page);
}

Result<Bytes> CudaDevice::share(const DeviceBuffer& shared) const {
  cudaIpcMemHandle_t handle = {};
  TRY(state_->run("share", [&] { return cudaIpcGetMemHandle(&handle, shared.at()); }));
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
  void* memory = nullptr;
  TRY(state_->run("open_shared", [&] {
    return cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
  }));
  std::shared_ptr<void> owner(memory, [state = state_](void* opened) {
    (void)state->run("close", [&] { return cudaIpcCloseMemHandle(opened); });
  });
  return DeviceBuffer(std::move(owner), static_cast<std::byte*>(memory), size);
}

/// CUDA loads a kernel at its first use, unless somebody asks for it before.
Result<> CudaDevice::load_kernels() {
  std::vector<KernelFunction> kernels;
  for (size_t from = 0; from < copy_format_count; ++from) {
    for (size_t to = 0; to < copy_format_count; ++to) {
      for (const bool few : {false, true})
        kernels.push_back(
            copy_kernel(static_cast<CopyFormat>(from), static_cast<CopyFormat>(to), few));
    }
  }
  // The averages of NCCL's sums. Some of the others are PTX, which would be compiled now.
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (nccl_can_reduce(type, ReduceOp::sum))
      kernels.push_back(reduce_kernel(type, ReduceOp::average));
  }
  for (const KernelFunction kernel : kernels) {
    if (kernel != nullptr) TRY(state_->resident_blocks(kernel, kernel_block_threads));
  }
  return {};
}

/// One block a multiprocessor. Other kernels may hold these for a while. But block b waits for
/// block b of the peers only.
Result<int> CudaDevice::prepare_peers() {
  for (size_t i = 0; i < element_type_count; ++i) {
    const KernelFunction kernel = peer_sum_kernel(static_cast<ElementType>(i));
    if (kernel != nullptr) TRY(state_->resident_blocks(kernel, peer_block_threads));
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

/// Returns the state of a device of `count`.
Result<std::shared_ptr<CudaState>> open_state(int index, int count) {
  auto state = std::make_shared<CudaState>(index, count);
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

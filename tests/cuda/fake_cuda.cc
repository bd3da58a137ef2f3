// Stands in for libcudart_static.a and for our kernels, so that gpu/cuda/ runs without a GPU.
// Streams keep their calls until they are queried. Kernels run on the CPU with the size of their
// launch.
#include "tests/cuda/fake_cuda.h"

#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/peer_sum_on_host.h"
#include "tests/unit/gpu/kernels/emulated_launch.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <utility>

// NOLINTBEGIN(readability-identifier-naming,readability-function-size): NVIDIA's prototypes
struct CUevent_st {
  bool recorded = false;
  bool reached = false;
};
struct CUstream_st {
  int device = 0;
  std::deque<std::function<void()>> calls = {};
};

namespace dt {

namespace {

/// The state that tests do not set.
struct Runtime {
  FakeCuda world = {};
  int final_status = 0;
  std::map<void*, std::pair<int, size_t>> memory = {};  ///< by address; device -1: pinned
  std::set<CUstream_st*> streams = {};
};
Runtime& runtime() {
  static Runtime state;
  return state;
}

int current_device() {
  const FakeCuda& world = runtime().world;
  return world.pushed.empty() ? world.current : world.pushed.back();
}

/// As since CUDA 12, a call makes a context on the current device. It may break a capture of the
/// program.
void touch(const char* function) {
  FakeCuda& world = runtime().world;
  world.contexts.insert(current_device());
  if (!world.relaxed) world.strict_calls.emplace_back(function);
}

cudaError_t status_of(const char* function) {
  if (runtime().final_status != 0) return static_cast<cudaError_t>(runtime().final_status);
  const auto found = runtime().world.failures.find(function);
  return found == runtime().world.failures.end() ? cudaSuccess
                                                 : static_cast<cudaError_t>(found->second);
}

/// Runs the calls of a stream in their order.
void run(CUstream_st& stream) {
  while (runtime().world.runs && runtime().final_status == 0 && !stream.calls.empty()) {
    const auto call = std::move(stream.calls.front());
    stream.calls.pop_front();
    call();
  }
}
void run_all() {
  for (CUstream_st* const stream : runtime().streams)
    run(*stream);
}

cudaError_t enqueue(const char* function, CUstream_st* stream, std::function<void()> call) {
  const cudaError_t status = status_of(function);
  if (status == cudaSuccess) stream->calls.push_back(std::move(call));
  return status;
}

cudaError_t allocate(const char* function, void** memory, size_t bytes, int device) {
  const cudaError_t status = status_of(function);
  if (status != cudaSuccess) return status;
  size_t used = 0;
  for (const auto& [address, allocation] : runtime().memory)
    used += allocation.first == device ? allocation.second : 0;
  if (device >= 0 && used + bytes > runtime().world.memory_bytes) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  runtime().memory[*memory] = {device, bytes};
  ++runtime().world.live_allocations;
  return cudaSuccess;
}

cudaError_t free_memory(void* memory) {
  run_all();
  runtime().memory.erase(memory);
  --runtime().world.live_allocations;
  std::free(memory);
  return cudaSuccess;
}

/// A kernel: the parameter, and the size of the launch.
using HostKernel = void (*)(void* argument, const FakeLaunch& launch);

template <ElementType type, ReduceOp op>
void run_reduce(void* argument, const FakeLaunch& launch) {
  emulate_reduce(*static_cast<ReduceArguments*>(argument), type, op,
                 uint64_t{launch.blocks} * launch.threads);
}

template <size_t... type>
KernelFunction find_reduce(ElementType wanted, ReduceOp op, std::index_sequence<type...>) {
  const HostKernel kernels[][5] = {{run_reduce<ElementType{type}, ReduceOp::sum>,
                                    run_reduce<ElementType{type}, ReduceOp::average>,
                                    run_reduce<ElementType{type}, ReduceOp::min>,
                                    run_reduce<ElementType{type}, ReduceOp::max>,
                                    run_reduce<ElementType{type}, ReduceOp::product>}...};
  return reinterpret_cast<KernelFunction>(
      kernels[static_cast<size_t>(wanted)][static_cast<size_t>(op)]);
}

template <class From, class To, int capacity>
void run_copy(void* argument, const FakeLaunch& launch) {
  const auto& arguments = *static_cast<CopyArguments<capacity>*>(argument);
  EmulatedCopy<CopyArguments<capacity>>{arguments, {launch.blocks, launch.threads}}
      .template operator()<From, To>();
}

struct FindCopy {
  bool few;
  template <class From, class To>
  KernelFunction operator()() const {
    return few ? reinterpret_cast<KernelFunction>(run_copy<From, To, few_copy_items>)
               : reinterpret_cast<KernelFunction>(run_copy<From, To, many_copy_items>);
  }
  KernelFunction none() const { return nullptr; }
};

void run_peer_sum(void* argument, const FakeLaunch&) {
  sum_peers_on_host(ElementType::float32, *static_cast<PeerAllReduce*>(argument));
}

/// Both have flags of zero: a write follows all earlier ones, and a wait also takes later values.
/// one.
int write_value(cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  auto* const word = reinterpret_cast<uint32_t*>(static_cast<uintptr_t>(address));
  return enqueue("cuStreamWriteValue32", stream, [=] { *word = value; });
}
/// Streams run whole, one after the other. So the others run first.
int wait_value(cudaStream_t stream, unsigned long long address, uint32_t value, unsigned flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  const auto* const word = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(address));
  return enqueue("cuStreamWaitValue32", stream, [=] {
    for (CUstream_st* const other : runtime().streams)
      if (other != stream && !peer_reached(*word, value)) run(*other);
    if (!peer_reached(*word, value)) runtime().final_status = cudaErrorLaunchTimeout;
  });
}

int device_get(int* device, int ordinal) {
  *device = ordinal;
  return cudaSuccess;
}
/// A context is its device, from 1.
int retain_context(void** context, int device) {
  const cudaError_t status = status_of("cuDevicePrimaryCtxRetain");
  if (status != cudaSuccess) return status;
  runtime().world.contexts.insert(device);
  *context = reinterpret_cast<void*>(static_cast<uintptr_t>(device) + 1);
  return cudaSuccess;
}
int push_context(void* context) {
  const cudaError_t status = status_of("cuCtxPushCurrent");
  if (status != cudaSuccess) return status;
  runtime().world.pushed.push_back(static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1);
  return cudaSuccess;
}
int pop_context(void**) {
  runtime().world.pushed.pop_back();
  return cudaSuccess;
}
int pointer_attribute(void* into, int attribute, unsigned long long address) {
  constexpr int is_legacy_ipc_capable = 10;
  if (attribute != is_legacy_ipc_capable) return cudaErrorInvalidValue;
  const auto* const at = reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
  *static_cast<unsigned*>(into) = runtime().world.pooled.contains(at) ? 0 : 1;
  return status_of("cuPointerGetAttribute");
}

/// Returns the bytes of a kernel's parameter, which a launch copies. The kernels were found by the
/// functions below.
std::map<KernelFunction, size_t>& argument_bytes() {
  static std::map<KernelFunction, size_t> bytes;
  return bytes;
}
KernelFunction with_argument(KernelFunction kernel, size_t bytes) {
  argument_bytes()[kernel] = bytes;
  return kernel;
}

}  // namespace

FakeCuda& fake_cuda() {
  return runtime().world;
}
FakeCuda& new_fake_cuda() {
  runtime() = Runtime();
  return runtime().world;
}

KernelFunction reduce_kernel(ElementType type, ReduceOp op) {
  if (op == ReduceOp::adasum) return nullptr;
  return with_argument(find_reduce(type, op, std::make_index_sequence<element_type_count>()),
                       sizeof(ReduceArguments));
}
KernelFunction peer_sum_kernel(ElementType type) {
  if (type != ElementType::float32) return nullptr;
  return with_argument(reinterpret_cast<KernelFunction>(HostKernel(run_peer_sum)),
                       sizeof(PeerAllReduce));
}
KernelFunction copy_kernel(CopyFormat from, CopyFormat to, bool few) {
  return with_argument(
      visit_copy_types(from, to, FindCopy{few}),
      few ? sizeof(CopyArguments<few_copy_items>) : sizeof(CopyArguments<many_copy_items>));
}

}  // namespace dt

using dt::runtime;
using dt::status_of;

extern "C" {

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation"
         : error == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress"
                                            : "cudaErrorInvalidValue";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorIllegalAddress ? "an illegal memory access was encountered"
                                            : "invalid argument";
}
cudaError_t cudaGetLastError() {
  return std::exchange(runtime().world.not_ready_stays, false) ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const cudaError_t status = dt::status_of("cudaGetDeviceProperties");
  if (status != cudaSuccess) return status;
  *properties = {};
  properties->uuid.bytes[15] = static_cast<char>(device + 1);
  std::strcpy(properties->name, "Fake GPU");
  return status;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = runtime().world.device_count;
  return status_of("cudaGetDeviceCount");
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = runtime().world.driver_version;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = dt::current_device();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  runtime().world.current = device;
  dt::touch("cudaSetDevice");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 2;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* possible, int, int) {
  *possible = runtime().world.peer_access ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  dt::touch("cudaDeviceEnablePeerAccess");
  return status_of("cudaDeviceEnablePeerAccess");
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  dt::touch("cudaDeviceGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  dt::touch("cudaMemGetInfo");
  size_t used = 0;
  for (const auto& [address, allocation] : runtime().memory)
    used += allocation.first == dt::current_device() ? allocation.second : 0;
  *total = runtime().world.memory_bytes;
  *free_bytes = *total - used;
  return status_of("cudaMemGetInfo");
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  dt::touch("cudaMalloc");
  return dt::allocate("cudaMalloc", memory, bytes, dt::current_device());
}
cudaError_t cudaMallocAsync(void** memory, size_t bytes, cudaStream_t stream) {
  dt::touch("cudaMallocAsync");
  return dt::allocate("cudaMallocAsync", memory, bytes, stream->device);
}
cudaError_t cudaFree(void* memory) {
  dt::touch("cudaFree");
  return dt::free_memory(memory);
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  dt::touch("cudaHostAlloc");
  return dt::allocate("cudaHostAlloc", memory, bytes, -1);
}
cudaError_t cudaFreeHost(void* memory) {
  dt::touch("cudaFreeHost");
  return dt::free_memory(memory);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int,
                                                          size_t) {
  dt::touch("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = runtime().world.resident_blocks;
  runtime().world.loaded.insert(kernel);
  return status_of("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  dt::touch("cudaIpcGetMemHandle");
  *handle = {};
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return status_of("cudaIpcGetMemHandle");
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  dt::touch("cudaIpcOpenMemHandle");
  const cudaError_t status = status_of("cudaIpcOpenMemHandle");
  if (status != cudaSuccess) return status;
  std::memcpy(memory, handle.reserved, sizeof *memory);
  ++runtime().world.live_opened;
  return status;
}
cudaError_t cudaIpcCloseMemHandle(void*) {
  dt::touch("cudaIpcCloseMemHandle");
  --runtime().world.live_opened;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  dt::touch("cudaPointerGetAttributes");
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  for (const auto& [begin, allocation] : runtime().memory) {
    const auto* const first = static_cast<const std::byte*>(begin);
    if (address < first || address >= first + allocation.second) continue;
    attributes->type = allocation.first < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = allocation.first;
  }
  return status_of("cudaPointerGetAttributes");
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  dt::touch("cudaStreamCreateWithPriority");
  const cudaError_t status = status_of("cudaStreamCreateWithPriority");
  if (status != cudaSuccess) return status;
  *stream = new CUstream_st{dt::current_device()};
  runtime().streams.insert(*stream);
  ++runtime().world.live_streams;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  dt::touch("cudaStreamSynchronize");
  dt::run(*stream);
  return status_of("cudaStreamSynchronize");
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  dt::touch("cudaStreamDestroy");
  runtime().streams.erase(stream);
  --runtime().world.live_streams;
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  dt::touch("cudaStreamGetDevice");
  const bool is_default = stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  if (!is_default && !runtime().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  *device = is_default ? dt::current_device() : stream->device;
  return status_of("cudaStreamGetDevice");
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  dt::touch("cudaStreamIsCapturing");
  const bool is_default = stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  if (!is_default && !runtime().streams.contains(stream)) return cudaErrorInvalidResourceHandle;
  *status = runtime().world.captures ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return status_of("cudaStreamIsCapturing");
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  dt::touch("cudaStreamQuery");
  dt::run(*stream);
  const cudaError_t status = status_of("cudaStreamQuery");
  if (status != cudaSuccess || stream->calls.empty()) return status;
  runtime().world.not_ready_stays = true;
  return cudaErrorNotReady;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  dt::touch("cudaMemcpyAsync");
  return dt::enqueue("cudaMemcpyAsync", stream, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  dt::touch("cudaMemsetAsync");
  return dt::enqueue("cudaMemsetAsync", stream, [=] { std::memset(to, value, bytes); });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  dt::touch("cudaLaunchHostFunc");
  return dt::enqueue("cudaLaunchHostFunc", stream, [=] { function(argument); });
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** parameters, size_t,
                             cudaStream_t stream) {
  dt::touch("cudaLaunchKernel");
  const dt::FakeLaunch launch = {grid.x, block.x, stream->device};
  const auto* const bytes = static_cast<const std::byte*>(parameters[0]);
  const size_t size = dt::argument_bytes().at(kernel);
  // The parameters lie on the caller's stack.
  const auto copied = std::make_shared<std::vector<std::byte>>(bytes, bytes + size);
  runtime().world.launches.push_back(launch);
  return dt::enqueue("cudaLaunchKernel", stream, [=] {
    if (runtime().world.launch_failure != 0) {
      runtime().final_status = runtime().world.launch_failure;
      return;
    }
    reinterpret_cast<dt::HostKernel>(const_cast<void*>(kernel))(copied->data(), launch);
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  dt::touch("cudaEventCreateWithFlags");
  *event = new CUevent_st;
  ++runtime().world.live_events;
  return status_of("cudaEventCreateWithFlags");
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  dt::touch("cudaEventDestroy");
  dt::run_all();
  --runtime().world.live_events;
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  dt::touch("cudaEventQuery");
  dt::run_all();
  const cudaError_t status = status_of("cudaEventQuery");
  if (status != cudaSuccess || !event->recorded || event->reached) return status;
  runtime().world.not_ready_stays = true;
  return cudaErrorNotReady;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  dt::touch("cudaEventRecord");
  event->recorded = true;
  event->reached = false;
  return dt::enqueue("cudaEventRecord", stream, [=] { event->reached = true; });
}
/// Streams run whole, one after the other. So the stream of the event runs first.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  dt::touch("cudaStreamWaitEvent");
  return dt::enqueue("cudaStreamWaitEvent", stream, [=] {
    for (CUstream_st* const other : runtime().streams)
      if (other != stream && event->recorded && !event->reached) dt::run(*other);
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  const bool before = runtime().world.relaxed;
  runtime().world.relaxed = *mode == cudaStreamCaptureModeRelaxed;
  *mode = before ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
  return cudaSuccess;
}

/// Returns the only functions of the driver that are asked for.
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const std::map<std::string_view, void*> functions = {
      {"cuStreamWriteValue32", reinterpret_cast<void*>(dt::write_value)},
      {"cuStreamWaitValue32", reinterpret_cast<void*>(dt::wait_value)},
      {"cuDeviceGet", reinterpret_cast<void*>(dt::device_get)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(dt::retain_context)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(dt::push_context)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(dt::pop_context)},
      {"cuPointerGetAttribute", reinterpret_cast<void*>(dt::pointer_attribute)},
  };
  const auto found = functions.find(name);
  *function = found == functions.end() ? nullptr : found->second;
  *result = *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return status_of("cudaGetDriverEntryPointByVersion");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)

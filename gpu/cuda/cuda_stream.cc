#include "gpu/cuda/cuda_stream.h"

#include "base/format.h"
#include "gpu/cuda/cuda_device.h"
#include "gpu/cuda/cuda_event.h"
#include "gpu/kernels/copy_arguments.h"
#include "gpu/kernels/kernel_table.h"
#include "gpu/kernels/peer_all_reduce.cuh"
#include "gpu/kernels/reduce_arguments.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <thread>

namespace dt {

namespace {

cudaStream_t stream_of(CudaStream::Handle handle) {
  return static_cast<cudaStream_t>(handle);
}

/// Returns the blocks in which each thread has one step of a reduction.
uint64_t reduce_blocks(const ReduceArguments& arguments, size_t element_size) {
  const uint64_t step_bytes = uint64_t{kernel_block_threads} * sizeof(Chunk);
  return (arguments.count * element_size + step_bytes - 1) / step_bytes;
}

}  // namespace

Result<std::unique_ptr<DeviceStream>> CudaStream::make(Device& device,
                                                       std::shared_ptr<CudaState> state) {
  int least = 0;
  int greatest = 0;
  cudaStream_t handle = nullptr;
  // Collectives are short, and other ranks wait for them.
  TRY(state->run("make_stream", [&] {
    const cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (status != cudaSuccess) return status;
    return cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, greatest);
  }));
  return std::unique_ptr<DeviceStream>(new CudaStream(device, std::move(state), handle, true));
}

Result<std::shared_ptr<DeviceStream>> CudaStream::adopt(Device& device,
                                                        std::shared_ptr<CudaState> state,
                                                        Handle handle) {
  int index = -1;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  // The default streams are those of the current device.
  TRY(state->run("stream_at", [&] {
    const cudaError_t status = cudaStreamGetDevice(stream_of(handle), &index);
    return status == cudaSuccess ? cudaStreamIsCapturing(stream_of(handle), &capture) : status;
  }));
  if (capture != cudaStreamCaptureStatusNone)
    return fail(Errc::input, "the stream is being captured into a graph");
  if (index != state->index())
    return fail(Errc::input,
                format("the stream belongs to cuda:{}, not to {}", index, state->name()));
  return std::shared_ptr<DeviceStream>(new CudaStream(device, std::move(state), handle, false));
}

CudaStream::~CudaStream() {
  if (!owned_) return;
  (void)state_->run("a stream", [&] {
    cudaStreamSynchronize(stream_of(handle_));
    return cudaStreamDestroy(stream_of(handle_));
  });
  // Functions that a failed device has not run may keep the list alive.
  functions_->waiting.clear();
}

tl::unexpected<Error> CudaStream::refuse(const char* call, Error why) const {
  return tl::unexpected(std::move(why).during(format("{}: {}", state_->name(), call)));
}

Result<DeviceBuffer> CudaStream::allocate(size_t bytes) {
  TRY(state_->status());
  if (bytes == 0) return DeviceBuffer();
  void* memory = nullptr;
  const auto made =
      state_->run("allocate", [&] { return cudaMallocAsync(&memory, bytes, stream_of(handle_)); });
  // Such a device has no pools of memory.
  if (!made && made.error().code == Errc::unsupported) return device_.allocate(bytes);
  TRY(made);
  return cuda_buffer(state_, memory, bytes);
}

Result<> CudaStream::copy(const MemoryCopy& copy) {
  TRY(state_->status());
  if (copy.overlaps()) return refuse("copy", {Errc::input, "the ranges overlap"});
  if (copy.bytes == 0) return {};
  return state_->run("copy", [&] {
    return cudaMemcpyAsync(copy.to, copy.from, copy.bytes, cudaMemcpyDefault, stream_of(handle_));
  });
}

Result<> CudaStream::fill(std::byte* to, std::byte value, size_t bytes) {
  TRY(state_->status());
  if (bytes == 0) return {};
  return state_->run("fill", [&] {
    return cudaMemsetAsync(to, static_cast<int>(value), bytes, stream_of(handle_));
  });
}

Result<> CudaStream::launch(const void* kernel, uint64_t blocks, void* arguments,
                            const char* call) {
  if (kernel == nullptr) return refuse(call, {Errc::unsupported, "there is no kernel for it"});
  // Each block walks over the elements, so more of them than run at once would only wait.
  const uint64_t resident = TRY(state_->resident_blocks(kernel, kernel_block_threads));
  const auto grid =
      static_cast<unsigned>(std::clamp<uint64_t>(blocks, 1, resident * state_->multiprocessors));
  void* parameters[] = {arguments};
  return state_->run(call, [&] {
    return cudaLaunchKernel(kernel, dim3(grid), dim3(kernel_block_threads), parameters, 0,
                            stream_of(handle_));
  });
}

Result<> CudaStream::reduce(const ArrayReduction& reduction) {
  TRY(state_->status());
  if (auto checked = check(reduction); !checked)
    return refuse("reduce", std::move(checked).error());
  if (reduction.count == 0) return {};
  auto arguments = reduce_arguments(reduction);
  if (!arguments) return refuse("reduce", std::move(arguments).error());
  return launch(reduce_kernel(reduction.type, reduction.op),
                reduce_blocks(*arguments, element_bytes(reduction.type)), &*arguments, "reduce");
}

template <int capacity>
Result<> CudaStream::launch_copy(const CopyBatch& batch, const std::vector<CopyPiece>& pieces,
                                 size_t begin) {
  const size_t count = std::min<size_t>(capacity, pieces.size() - begin);
  auto arguments = copy_arguments<capacity>(batch, std::span(pieces).subspan(begin, count));
  return launch(copy_kernel(batch.from, batch.to, capacity == few_copy_items), arguments.tile_count,
                &arguments, "copy_pieces");
}

Result<> CudaStream::copy_pieces(const CopyBatch& batch) {
  TRY(state_->status());
  if (auto checked = check(batch); !checked)
    return refuse("copy_pieces", std::move(checked).error());
  const std::vector<CopyPiece> pieces = launchable_pieces(batch);
  if (!pieces.empty() && pieces.size() <= few_copy_items)
    return launch_copy<few_copy_items>(batch, pieces, 0);
  for (size_t begin = 0; begin < pieces.size(); begin += many_copy_items)
    TRY(launch_copy<many_copy_items>(batch, pieces, begin));
  return {};
}

Result<> CudaStream::sum_peers(ElementType type, const PeerAllReduce& call) {
  TRY(state_->status());
  const KernelFunction kernel = peer_sum_kernel(type);
  if (kernel == nullptr)
    return refuse("sum_peers", {Errc::unsupported, "there is no kernel for it"});
  PeerAllReduce argument = call;
  void* parameters[] = {&argument};
  return state_->run("sum_peers", [&] {
    return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(call.blocks)),
                            dim3(peer_block_threads), parameters, 0, stream_of(handle_));
  });
}

Result<> CudaStream::write_value(uint32_t* at, uint32_t value) {
  TRY(state_->status());
  const auto& memory = state_->stream_memory();
  if (!memory) return refuse("write_value", memory.error());
  return state_->run("write_value", [&] {
    return memory->write(stream_of(handle_), reinterpret_cast<uintptr_t>(at), value, 0);
  });
}

Result<> CudaStream::wait_value(const uint32_t* at, uint32_t value) {
  TRY(state_->status());
  const auto& memory = state_->stream_memory();
  if (!memory) return refuse("wait_value", memory.error());
  constexpr unsigned until_reached = 0;  // CU_STREAM_WAIT_VALUE_GEQ, which compares cyclically
  return state_->run("wait_value", [&] {
    return memory->wait(stream_of(handle_), reinterpret_cast<uintptr_t>(at), value, until_reached);
  });
}

void CudaStream::run_host_call(void* call) {
  const std::unique_ptr<HostCall> owned(static_cast<HostCall*>(call));
  (*owned->function)();
  const std::lock_guard lock(owned->functions->mutex);
  owned->functions->waiting.erase(owned->function);
}

Result<> CudaStream::run_on_host(std::function<void()> function) {
  TRY(state_->status());
  auto call = std::make_unique<HostCall>();
  call->functions = functions_;
  {
    const std::lock_guard lock(functions_->mutex);
    call->function = functions_->waiting.insert(functions_->waiting.end(), std::move(function));
  }
  HostCall* const passed = call.release();  // run_host_call() owns it
  auto result = state_->run(
      "run_on_host", [&] { return cudaLaunchHostFunc(stream_of(handle_), run_host_call, passed); });
  if (!result) {
    call.reset(passed);
    const std::lock_guard lock(functions_->mutex);
    functions_->waiting.erase(call->function);
  }
  return result;
}

Result<> CudaStream::record(DeviceEvent& event) {
  TRY(state_->status());
  const auto* const mine = dynamic_cast<const CudaEvent*>(&event);
  if (mine == nullptr || mine->device() != state_->index())
    return refuse("record", {Errc::input, "the event belongs to another device"});
  return state_->run("record", [&] {
    return cudaEventRecord(static_cast<cudaEvent_t>(mine->handle()), stream_of(handle_));
  });
}

Result<> CudaStream::wait(const DeviceEvent& event) {
  TRY(state_->status());
  const auto* const mine = dynamic_cast<const CudaEvent*>(&event);
  if (mine == nullptr)
    return refuse("wait", {Errc::input, "the event belongs to another kind of device"});
  return state_->run("wait", [&] {
    return cudaStreamWaitEvent(stream_of(handle_), static_cast<cudaEvent_t>(mine->handle()), 0);
  });
}

Result<bool> CudaStream::done() const {
  TRY(state_->status());
  return state_->ask("done", [&] { return cudaStreamQuery(stream_of(handle_)); });
}

Result<> CudaStream::synchronize(Time deadline) {
  // CUDA's own wait has no deadline.
  while (!TRY(done())) {
    if (Clock::now() >= deadline)
      return refuse("synchronize", {Errc::timeout, "calls have not run in time"});
    std::this_thread::yield();
  }
  return {};
}

}  // namespace dt

// A rank's GPU for DeviceTrainer: one stream for its kernels, copies and collectives.
#include "examples/digits/device_trainer.h"
#include "examples/digits/gpu_trainer.h"

#include <cuda_runtime.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace digits {
namespace {

constexpr unsigned threads_per_block = 128;

template <class Function>
__global__ void call_for_each_index(std::size_t count, Function function) {
  const std::size_t index = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (index < count) function(index);
}

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}

[[noreturn]] void refuse(cudaError_t status) {
  int driver = 0;
  const bool no_driver = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
  throw std::runtime_error(
      std::string("no usable GPU: ") +
      (no_driver ? "NVIDIA's driver is not installed here" : cudaGetErrorString(status)));
}

/// Makes this process use its GPU, and returns the GPU's number.
int use_gpu(const dtrain::Context& world) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess || count == 0) refuse(found == cudaSuccess ? cudaErrorNoDevice : found);
  const int gpu = world.local_rank() % count;
  const cudaError_t used = cudaSetDevice(gpu);
  if (used != cudaSuccess) refuse(used);
  return gpu;
}

/// A stream and the memory of a GPU.
class Gpu {
 public:
  explicit Gpu(dtrain::Context& world) : world_(world), number_(use_gpu(world)) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu() {
    // The memory belongs to a collective until it has ended, also if it ends with an error.
    if (sum_) dtrain_work_wait(sum_->get(), -1, nullptr);
    cudaStreamSynchronize(stream_);
    for (void* const memory : allocated_)
      cudaFree(memory);
    cudaStreamDestroy(stream_);
  }

  std::string model() const {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, number_), "cudaGetDeviceProperties");
    return properties.name;
  }

  template <class T>
  T* allocate(std::size_t count) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
    allocated_.push_back(memory);
    return static_cast<T*>(memory);
  }

  template <class T>
  void upload(T* to, std::span<const T> values) {
    check_cuda(cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyDefault, stream_),
               "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  template <class T>
  void download(std::span<T> values, const T* from) {
    if (sum_) std::exchange(sum_, std::nullopt)->wait();
    check_cuda(
        cudaMemcpyAsync(values.data(), from, values.size_bytes(), cudaMemcpyDefault, stream_),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  template <class Function>
  void for_each(std::size_t count, const Function& function) {
    if (count == 0) return;
    const auto blocks = static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
    call_for_each_index<<<blocks, threads_per_block, 0, stream_>>>(count, function);
    check_cuda(cudaGetLastError(), "a kernel");
  }

  /// Returns when the sum is queued. Kernels of the stream that are queued later find it.
  void all_reduce(std::span<double> values) {
    auto sum = world_.all_reduce_async(values, dtrain::Op::sum, {.stream = stream_});
    sum.wait_on(stream_);
    // The one before has ended soon. Its error, if it has one, is not lost.
    if (auto before = std::exchange(sum_, std::move(sum))) before->wait();
  }

 private:
  dtrain::Context& world_;
  int number_;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> allocated_;
  std::optional<dtrain::Work> sum_;
};

/// A trainer with its GPU.
class GpuTrainer final : public EpochTrainer {
 public:
  GpuTrainer(dtrain::Context& world, const Options& options, std::span<const Image> images)
      : gpu_(world), trainer_(gpu_, world, options, images) {}

  std::string model() const { return gpu_.model(); }
  double train_epoch() override { return trainer_.train_epoch(); }
  std::size_t epochs_done() const override { return trainer_.epochs_done(); }
  Network::Values weights() const override { return trainer_.weights(); }

 private:
  Gpu gpu_;
  DeviceTrainer<Gpu> trainer_;
};

}  // namespace

GpuTraining prepare_gpu_training(dtrain::Context& world, const Options& options,
                                 std::span<const Image> images) {
  auto trainer = std::make_unique<GpuTrainer>(world, options, images);
  std::string model = trainer->model();
  return {.gpu = std::move(model), .trainer = std::move(trainer)};
}

}  // namespace digits

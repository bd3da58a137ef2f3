#include "gpu/cuda/cuda_stream.h"

#include "gpu/cuda/open_cuda.h"
#include "gpu/cuda/stream_memory.h"
#include "gpu/kernels/kernel_table.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

// Numbers of CUDA's statuses.
constexpr int invalid_value = 1;
constexpr int not_supported = 801;

/// The GPUs of a new world with a stream each.
struct CudaStreams {
  CudaStreams() {
    new_fake_cuda();
    devices = open_cuda_devices().value();
    for (const auto& device : devices)
      streams.push_back(device->make_stream().value());
  }
  DeviceList devices;
  std::vector<std::unique_ptr<DeviceStream>> streams;
};

TEST_CASE("memory of a stream is that of its device, also where that has no pools") {
  const CudaStreams cuda;
  for (const int status : {0, not_supported}) {
    fake_cuda().failures["cudaMallocAsync"] = status;
    const DeviceBuffer buffer = cuda.streams[1]->allocate(16).value();
    CHECK(cuda.devices[1]->place_of(buffer.at()).device == 1);
    CHECK(fake_cuda().live_allocations == 1);
  }
  CHECK(fake_cuda().live_allocations == 0);
  CHECK(cuda.streams[1]->allocate(0).value().at() == nullptr);
  check_error(cuda.streams[1]->allocate(size_t{2} << 20), Errc::out_of_memory,
              "cuda:1: allocate: out of memory (cudaErrorMemoryAllocation)");
}

TEST_CASE("the kernels that a held stream may need are loaded before") {
  const CudaStreams cuda;
  REQUIRE(cuda.devices[0]->load_kernels());
  CHECK(fake_cuda().loaded.contains(copy_kernel(CopyFormat::bytes1, CopyFormat::bytes1, true)));
  CHECK(fake_cuda().loaded.contains(copy_kernel(CopyFormat::float32, CopyFormat::bfloat16, false)));
  CHECK(fake_cuda().loaded.contains(reduce_kernel(ElementType::float32, ReduceOp::average)));
  CHECK(fake_cuda().loaded.contains(reduce_kernel(ElementType::uint8, ReduceOp::average)));
  // Its driver's compiler would run now.
  CHECK_FALSE(
      fake_cuda().loaded.contains(reduce_kernel(ElementType::float8_e4m3, ReduceOp::average)));
}

TEST_CASE("a driver without operations on numbers is asked once, and each call says so") {
  const CudaStreams cuda;
  uint32_t number = 0;
  fake_cuda().failures["cudaGetDriverEntryPointByVersion"] = invalid_value;
  check_error(find_stream_memory(), Errc::unsupported, "the driver has no cuStreamWriteValue32");
  check_error(cuda.streams[0]->write_value(&number, 1), Errc::unsupported,
              "cuda:0: write_value: the driver has no cuStreamWriteValue32");
  fake_cuda().failures.clear();
  CHECK_FALSE(cuda.streams[0]->write_value(&number, 1));
  REQUIRE(cuda.streams[1]->write_value(&number, 1));
  // A device may lack them, too.
  fake_cuda().failures["cuStreamWaitValue32"] = not_supported;
  const Result<> refused = cuda.streams[1]->wait_value(&number, 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::unsupported);
}

}  // namespace
}  // namespace dt

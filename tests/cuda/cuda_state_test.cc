#include "gpu/cuda/cuda_state.h"

#include "gpu/cuda/driver_function.h"
#include "gpu/cuda/open_cuda.h"
#include "tests/cuda/fake_cuda.h"
#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

// Numbers of CUDA's statuses.
constexpr int memory_allocation = 2;
constexpr int invalid_value = 1;

DeviceList devices_of_new_world(int count) {
  new_fake_cuda().device_count = count;
  return open_cuda_devices().value();
}

TEST_CASE("a process has contexts on the GPUs that it uses, and its calls break no capture") {
  const DeviceList all = devices_of_new_world(8);
  CHECK(fake_cuda().contexts.empty());
  {
    Device& device = *all[3];
    const auto stream = device.make_stream().value();
    const auto event = device.make_event().value();
    const DeviceBuffer buffer = device.allocate(sizeof(int)).value();
    const DeviceBuffer pinned = device.allocate_pinned(sizeof(int)).value();
    CHECK(stream->copy({buffer.at(), pinned.at(), sizeof(int)}).has_value());
    CHECK(stream->record(*event).has_value());
    CHECK(event->done().value());
    CHECK(device.place_of(buffer.at()).device == 3);
    CHECK(device.memory().total_bytes > 0);
    CHECK(device.prepare_peers().has_value());
    CHECK(device.open_shared(device.share(buffer).value()).has_value());
    CHECK(stream->synchronize(Clock::now() + seconds(60)).has_value());
  }
  CHECK(fake_cuda().contexts == std::set<int>{3});
  CHECK(fake_cuda().strict_calls.empty());
  CHECK(fake_cuda().pushed.empty());
  CHECK_FALSE(fake_cuda().relaxed);
  CHECK(all[3]->can_access(*all[5]));
  CHECK(fake_cuda().contexts == std::set<int>{3});
}

TEST_CASE("a device that cannot be made current is an error, and no call reaches another one") {
  new_fake_cuda();
  constexpr int devices_unavailable = 46;
  const auto device = open_cuda_device(1).value();
  fake_cuda().failures["cuDevicePrimaryCtxRetain"] = devices_unavailable;
  check_error(device->allocate(8), Errc::os,
              "cuda:1: another process uses it, in exclusive mode; see nvidia-smi");
  fake_cuda().failures = {{"cuDevicePrimaryCtxRetain", memory_allocation}};
  check_error(device->make_stream(), Errc::out_of_memory,
              "cuda:1: it cannot be used: out of memory (cudaErrorMemoryAllocation)");
  fake_cuda().failures = {{"cuCtxPushCurrent", invalid_value}};
  check_error(device->allocate(8), Errc::os, "cuda:1: it cannot be made current: invalid argument");
  CHECK(fake_cuda().contexts == std::set<int>{1});
  CHECK(fake_cuda().live_allocations == 0);
  fake_cuda().failures.clear();
  CHECK(device->allocate(8).has_value());
}

TEST_CASE("memory that other processes may have open is left to the driver") {
  const DeviceList devices = devices_of_new_world(1);
  fake_cuda().memory_bytes = size_t{4} << 20;
  DeviceBuffer freed = devices[0]->allocate_shared(16).value();
  DeviceBuffer left = devices[0]->allocate_shared(16).value();
  CHECK(fake_cuda().live_allocations == 2);
  left.leave_to_driver();
  left = DeviceBuffer();
  freed = DeviceBuffer();
  CHECK(fake_cuda().live_allocations == 1);
}

TEST_CASE("a question for work that has not run leaves no error for the program") {
  const DeviceList devices = devices_of_new_world(1);
  const auto stream = devices[0]->make_stream().value();
  const auto event = devices[0]->make_event().value();
  fake_cuda().runs = false;
  REQUIRE(stream->record(*event).has_value());
  CHECK_FALSE(event->done().value());
  CHECK_FALSE(fake_cuda().not_ready_stays);
  CHECK_FALSE(stream->done().value());
  CHECK_FALSE(fake_cuda().not_ready_stays);
  fake_cuda().runs = true;
  CHECK(event->done().value());
}

TEST_CASE("the default streams are those of the device that is asked") {
  const DeviceList devices = devices_of_new_world(2);
  void* const legacy = reinterpret_cast<void*>(1);
  void* const of_thread = reinterpret_cast<void*>(2);
  for (const auto& device : devices) {
    CHECK(device->stream_at(legacy).has_value());
    CHECK(device->stream_at(of_thread).has_value());
  }
}

TEST_CASE("a device is current for libraries while they are called") {
  const DeviceList devices = devices_of_new_world(2);
  {
    const std::shared_ptr<void> current = devices[1]->make_current();
    CHECK(fake_cuda().pushed == std::vector<int>{1});
  }
  CHECK(fake_cuda().pushed.empty());
}

TEST_CASE("calls leave the program's current device as it was") {
  const DeviceList devices = devices_of_new_world(3);
  const DeviceBuffer buffer = devices[2]->allocate(64).value();
  CHECK(devices[2]->make_stream().value()->fill(buffer.at(), std::byte{1}, 64).has_value());
  CHECK(devices[0]->place_of(buffer.at()).device == 2);
  const DeviceBuffer other = devices[0]->allocate(64).value();
  CHECK(devices[0]->place_of(other.at()).device == 0);
}

TEST_CASE("a current device ends with its object, on this thread") {
  const DeviceList devices = devices_of_new_world(3);
  const std::shared_ptr<void> outer = devices[1]->make_current();
  {
    const std::shared_ptr<void> inner = devices[2]->make_current();
    CHECK(fake_cuda().pushed == std::vector<int>{1, 2});
  }
  CHECK(fake_cuda().pushed == std::vector<int>{1});
  CHECK(fake_cuda().relaxed);
}

TEST_CASE("a function that the driver lacks is named") {
  new_fake_cuda();
  CHECK(driver_function("cuCtxPushCurrent").value() != nullptr);
  check_error(driver_function("cuNoSuch"), Errc::unsupported, "the driver has no cuNoSuch");
}

}  // namespace
}  // namespace dt

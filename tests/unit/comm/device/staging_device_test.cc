#include "comm/device/staging_device.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <array>

namespace dt {
namespace {

std::shared_ptr<StagingDevice> open_one(const CpuDeviceOptions& options = {}) {
  return StagingDevice::open(std::move(open_cpu_devices(options).value().front())).value();
}

TEST_CASE("pinned memory is used again by calls of nearly the same size") {
  const auto device = open_one();
  DeviceBuffer first = device->take_pinned(5000).value();
  CHECK(first.bytes() == 8192);
  CHECK(device->device().place_of(first.at()).kind == MemoryPlace::Kind::pinned);
  const std::byte* const at = first.at();
  DeviceBuffer second = device->take_pinned(5000).value();
  CHECK(second.at() != at);
  device->keep_pinned(std::move(first));
  CHECK(device->take_pinned(100).value().at() != at);
  CHECK(device->take_pinned(8192).value().at() == at);
}

TEST_CASE("the pinned memory that is kept has a limit") {
  const auto device = open_one();
  std::vector<DeviceBuffer> buffers;
  for (int i = 0; i < 17; ++i)
    buffers.push_back(device->take_pinned(1).value());
  const std::byte* const first = buffers[0].at();
  const std::byte* const second = buffers[1].at();
  for (DeviceBuffer& buffer : buffers)
    device->keep_pinned(std::move(buffer));
  // The oldest of 17 is freed by the next call that may wait for the device.
  const auto is_pinned = [&](const std::byte* at) {
    return device->device().place_of(at).kind == MemoryPlace::Kind::pinned;
  };
  CHECK(is_pinned(first));
  const DeviceBuffer taken = device->take_pinned(1).value();
  CHECK(taken.at() == second);
  CHECK_FALSE(is_pinned(first));
  for (int i = 0; i < 15; ++i)
    CHECK(device->take_pinned(1).value().at() != first);
}

TEST_CASE("copies go both ways, and the event behind them is reached also after a refusal") {
  const auto device = open_one();
  const DeviceBuffer memory = device->device().allocate(3).value();
  const DeviceBuffer pinned = device->take_pinned(3).value();
  const auto copied = device->device().make_event().value();
  std::array<std::byte, 3> values = {std::byte{1}, std::byte{2}, std::byte{3}};
  const MemoryCopy in = {memory.at(), values.data(), 3};
  REQUIRE(device->copy_results({&in, 1}, *copied).has_value());
  REQUIRE(copied->synchronize(much_later()).has_value());
  const std::array<MemoryCopy, 2> copies = {MemoryCopy{pinned.at(), memory.at(), 3},
                                            MemoryCopy{pinned.at(), memory.at(), 4}};
  const Result<> refused = device->copy_inputs(copies, *copied);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::input);
  REQUIRE(copied->synchronize(much_later()).has_value());
  CHECK(std::equal(values.begin(), values.end(), pinned.at()));
}

}  // namespace
}  // namespace dt

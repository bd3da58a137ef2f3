#include "cmd/bench/bench_device.h"

#include "gpu/devices/device_places.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <numeric>
#include <vector>

namespace dt {
namespace {

std::byte* bytes_of(std::vector<int>& numbers) {
  return reinterpret_cast<std::byte*>(numbers.data());
}

TEST_CASE("a rank has the device of its local rank, in turn where there are fewer") {
  const Environment two = {{"DTRAIN_CPU_DEVICES", "2"}};
  CHECK(BenchDevice::open(0, two).value()->name() == "cpu:0");
  CHECK(BenchDevice::open(1, two).value()->name() == "cpu:1");
  CHECK(BenchDevice::open(4, two).value()->name() == "cpu:0");
  CHECK(BenchDevice::open(0, two).value()->uuid().empty());
}

TEST_CASE("its memory lies on that device, and a copy is done when it returns") {
  const auto device = BenchDevice::open(1, {{"DTRAIN_CPU_DEVICES", "2"}}).value();
  std::vector<int> sent(10'000);
  std::iota(sent.begin(), sent.end(), 1);
  std::vector<int> received(sent.size());
  const size_t bytes = sent.size() * sizeof(int);
  const DeviceBuffer buffer = device->allocate(bytes).value();
  CHECK(find_device_place(buffer.at()).value().index == 1);
  REQUIRE(device->copy({buffer.at(), bytes_of(sent), bytes}));
  REQUIRE(device->copy({bytes_of(received), buffer.at(), bytes}));
  CHECK(received == sent);
  CHECK(device->copy({nullptr, nullptr, 0}));
}

TEST_CASE("where no device can be opened, the error has the reason") {
  const auto wrong = BenchDevice::open(0, {{"DTRAIN_CPU_DEVICES", "no"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "DTRAIN_CPU_DEVICES: must be a number from 1 to 64, not 'no'");
  if (std::filesystem::exists("/dev/nvidiactl")) return;
  const auto none = BenchDevice::open(0, {});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().message.starts_with("no usable GPU: "));
}

}  // namespace
}  // namespace dt

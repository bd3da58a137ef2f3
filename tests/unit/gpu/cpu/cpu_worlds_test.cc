#include "gpu/cpu/cpu_worlds.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

TEST_CASE("an address is found on its device among several lists of CPU devices") {
  const DeviceList first = open_cpu_devices({.count = 2}).value();
  const DeviceList second = open_cpu_devices({.count = 2}).value();
  CHECK(cpu_devices_opened());
  const DeviceBuffer one = first[1]->allocate(100).value();
  const DeviceBuffer other = second[0]->allocate(100).value();
  const auto at_one = find_cpu_device(one.at() + 99);
  const auto at_other = find_cpu_device(other.at());
  REQUIRE(at_one.has_value());
  REQUIRE(at_other.has_value());
  CHECK(at_one->index == 1);
  CHECK(at_other->index == 0);
  CHECK(at_one->world != at_other->world);
}

TEST_CASE("memory of the host, pinned memory and freed memory are on no CPU device") {
  const DeviceList devices = open_cpu_devices({}).value();
  std::byte mine = {};
  CHECK_FALSE(find_cpu_device(&mine).has_value());
  CHECK_FALSE(find_cpu_device(nullptr).has_value());
  const DeviceBuffer pinned = devices[0]->allocate_pinned(10).value();
  CHECK_FALSE(find_cpu_device(pinned.at()).has_value());
  DeviceBuffer freed = devices[0]->allocate(10).value();
  const std::byte* const at = freed.at();
  freed = DeviceBuffer();
  CHECK_FALSE(find_cpu_device(at).has_value());
}

TEST_CASE("a stream of a CPU device is found by its address, on its own device only") {
  const CpuDevices cpu({.count = 2});
  const auto found = cpu.device(0).stream_at(cpu.streams[0].get());
  REQUIRE(found.has_value());
  CHECK(found->get() == cpu.streams[0].get());
  CHECK(cpu.device(1).stream_at(cpu.streams[0].get()).error().code == Errc::input);
  int other = 0;
  CHECK(cpu.device(0).stream_at(&other).error().message.starts_with("cpu:0 has no stream at 0x"));
  void* gone = nullptr;
  {
    const auto stream = cpu.device(0).make_stream().value();
    gone = stream.get();
    CHECK(cpu.device(0).stream_at(gone).has_value());
  }
  CHECK_FALSE(cpu.device(0).stream_at(gone).has_value());
}

}  // namespace
}  // namespace dt

#include "gpu/devices/device_places.h"

#include "tests/unit/gpu/cpu_devices.h"

namespace dt {
namespace {

TEST_CASE("a device that is opened by the place of an address uses the same memory and streams") {
  const CpuDevices cpu({.count = 2});
  CHECK(PossibleDevices().any());
  const DeviceBuffer buffer = on_device(cpu.stream(1), std::vector<int>{1, 2, 3});
  const auto place = find_device_place(buffer.at());
  REQUIRE(place.has_value());
  CHECK(place->index == 1);
  CHECK(name_of(*place) == "cpu:1");
  const auto opened = open_device_at(*place).value();
  CHECK(opened->name() == "cpu:1");
  CHECK(opened->place_of(buffer.at()).kind == MemoryPlace::Kind::device);
  const auto stream = opened->stream_at(cpu.streams[1].get()).value();
  CHECK(values_of<int>(*stream, buffer, 3) == std::vector<int>{1, 2, 3});
}

TEST_CASE("a place without a world of CPU devices is a GPU") {
  CHECK(name_of({.index = 2}) == "cuda:2");
}

TEST_CASE("memory has room up to the end of its allocation") {
  const CpuDevices cpu({});
  const DeviceBuffer buffer = cpu.device(0).allocate(100).value();
  MemoryFinder finder;
  const PlacedMemory* const found = finder.find(buffer.at() + 40);
  REQUIRE(found != nullptr);
  CHECK(found->room_at(buffer.at() + 40) == 60);
  CHECK(found->room_at(buffer.at()) == 100);
  CHECK(found->room_at(buffer.at() + 100) == 0);
  CHECK(found->room_at(buffer.at() - 1) == 0);
  CHECK_FALSE(PlacedMemory().room_at(buffer.at()).has_value());
}

TEST_CASE("memory of the host lies on no device") {
  const DeviceList devices = open_cpu_devices({}).value();
  const int mine = 0;
  CHECK_FALSE(find_device_place(&mine).has_value());
  const DeviceBuffer pinned = devices[0]->allocate_pinned(8).value();
  CHECK_FALSE(find_device_place(pinned.at()).has_value());
}

}  // namespace
}  // namespace dt

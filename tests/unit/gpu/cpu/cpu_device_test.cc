#include "gpu/cpu/cpu_device.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <limits>

namespace dt {
namespace {

TEST_CASE("a process has 1 to 64 CPU devices, which are named by their index") {
  const DeviceList devices = open_cpu_devices({.count = 64}).value();
  REQUIRE(devices.size() == 64);
  CHECK(devices[0]->name() == "cpu:0");
  CHECK(devices[63]->name() == "cpu:63");
  CHECK(devices[63]->index() == 63);
  check_error(open_cpu_devices({.count = 0}), Errc::input,
              "a process has 1 to 64 CPU devices, not 0");
  check_error(open_cpu_devices({.count = 65}), Errc::input,
              "a process has 1 to 64 CPU devices, not 65");
}

TEST_CASE("a device reports its memory, and fails when too little is free") {
  const CpuDevices cpu({.memory_bytes = 1000});
  Device& device = cpu.device(0);
  {
    const DeviceBuffer buffer = device.allocate(700).value();
    CHECK(buffer.bytes() == 700);
    CHECK(device.memory() == DeviceMemory{.total_bytes = 1000, .free_bytes = 300});
    check_error(device.allocate(301), Errc::out_of_memory,
                "cpu:0: cannot allocate 301 bytes: 300 of 1000 bytes are free");
    CHECK(device.status().has_value());
  }
  CHECK(device.memory().free_bytes == 1000);
  CHECK(device.allocate(1000).has_value());
  CHECK_FALSE(device.allocate_pinned(std::numeric_limits<size_t>::max()).has_value());
  CHECK(device.allocate(0).value().at() == nullptr);
}

TEST_CASE("a buffer that moves stays one buffer") {
  const CpuDevices cpu({.memory_bytes = 1000});
  DeviceBuffer first = cpu.device(0).allocate(100).value();
  std::byte* const at = first.at();
  DeviceBuffer second = std::move(first);
  CHECK(second.at() == at);
  CHECK(cpu.device(0).memory().free_bytes == 900);
  second = DeviceBuffer();
  CHECK(cpu.device(0).memory().free_bytes == 1000);
}

TEST_CASE("a device knows where an address lies") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer buffer = cpu.device(1).allocate(100).value();
  const DeviceBuffer pinned = cpu.device(1).allocate_pinned(100).value();
  const std::byte pageable{};
  const Device& device = cpu.device(0);
  CHECK(device.place_of(buffer.at() + 99) ==
        MemoryPlace{.kind = MemoryPlace::Kind::device, .device = 1});
  CHECK(device.place_of(pinned.at()) == MemoryPlace{.kind = MemoryPlace::Kind::pinned});
  CHECK(device.place_of(&pageable) == MemoryPlace{});
  const DeviceBuffer pooled = static_cast<CpuDevice&>(cpu.device(0)).allocate_pooled(10).value();
  CHECK(device.place_of(pooled.at()).access == KernelAccess::own_device);
  CHECK(device.place_of(nullptr) == MemoryPlace{});
}

TEST_CASE("peer access is all or nothing") {
  const CpuDevices together({.count = 2});
  CHECK(together.device(0).can_access(together.device(1)));
  const CpuDevices apart({.count = 2, .peer_access = false});
  CHECK(apart.device(0).can_access(apart.device(0)));
  CHECK_FALSE(apart.device(0).can_access(apart.device(1)));
}

TEST_CASE("a write past a buffer is an error of the next synchronize, and final") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer buffer = cpu.device(0).allocate(10).value();
  REQUIRE(cpu.stream(0).run_on_host([&] { buffer.at()[10] = std::byte{1}; }).has_value());
  const char* const message =
      "cpu:0 has failed and stays unusable: check of memory: a buffer of 10 bytes was overrun: 0 "
      "bytes before it and 1 after it have changed";
  check_error(cpu.stream(0).synchronize(much_later()), Errc::os, message);
  check_error(cpu.device(0).allocate(1), Errc::os, message);
  CHECK(cpu.device(1).status().has_value());
}

TEST_CASE("a write before a buffer is found when the buffer is freed") {
  const CpuDevices cpu({});
  {
    const DeviceBuffer pinned = cpu.device(0).allocate_pinned(10).value();
    pinned.at()[-1] = std::byte{1};
    CHECK(cpu.device(0).status().has_value());
  }
  check_error(cpu.device(0).status(), Errc::os,
              "cpu:0 has failed and stays unusable: check of memory: a buffer of 10 bytes was "
              "overrun: 1 bytes before it and 0 after it have changed");
}

}  // namespace
}  // namespace dt

#include "gpu/cross_device/device_group.h"

#include "tests/unit/gpu/replicas.h"

namespace dt {
namespace {

std::vector<DeviceStream*> streams_of(const CpuDevices& cpu) {
  std::vector<DeviceStream*> streams;
  for (const auto& stream : cpu.streams)
    streams.push_back(stream.get());
  return streams;
}

TEST_CASE("each device of a group has slots of one size for its peers and two more") {
  const CpuDevices cpu({.count = 2, .memory_bytes = 10'000});
  const auto group = DeviceGroup::make(streams_of(cpu), 4'000).value();
  CHECK(group->size() == 2);
  CHECK(group->slot_bytes() == 768);  // a fourth, down to a multiple of 256
  CHECK(cpu.device(1).memory().free_bytes == 10'000 - 4 * 768);
  CHECK(group->copy_slot(1, 1) == group->copy_slot(1, 0) + 768);
  CHECK(group->result_slot(1) == group->copy_slot(1, 0) + 2 * 768);
  CHECK(group->packed_slot(1) == group->copy_slot(1, 0) + 3 * 768);
  CHECK(cpu.device(0).place_of(group->packed_slot(1) + 767).device == 1);
  CHECK(group->shortage().empty());
}

TEST_CASE("the slots of a group shrink to the memory of the device that has least") {
  const CpuDevices cpu({.count = 2, .memory_bytes = 10'000});
  const DeviceBuffer large = cpu.device(1).allocate(6'000).value();
  const auto group = DeviceGroup::make(streams_of(cpu), 10'000).value();
  CHECK(group->slot_bytes() == 512);
  CHECK(cpu.device(0).memory().free_bytes == 10'000 - 4 * 512);
  CHECK(cpu.device(1).memory().free_bytes == 4'000 - 4 * 512);
  CHECK(group->shortage().starts_with("cpu:1: "));
  CHECK(group->shortage().ends_with(
      "; reductions use 2048 bytes of each device, not 10000, in more steps"));
}

TEST_CASE("a group without memory for the smallest slots fails, and frees all") {
  const CpuDevices cpu({.count = 2, .memory_bytes = 10'000});
  const DeviceBuffer large = cpu.device(1).allocate(9'000).value();
  check_error(DeviceGroup::make(streams_of(cpu)), Errc::out_of_memory,
              "cpu:1: cannot allocate 1024 bytes: 1000 of 10000 bytes are free");
  CHECK(cpu.device(0).memory().free_bytes == 10'000);
}

TEST_CASE("work of one stream follows the work so far on another") {
  Replicas replicas({.count = 2});
  DeviceGroup& group = replicas.group();
  Gate gate;
  bool before = false;
  bool seen = false;
  REQUIRE(group.stream(0).run_on_host([&] { gate.pass(); }).has_value());
  REQUIRE(group.stream(0).run_on_host([&] { before = true; }).has_value());
  REQUIRE(group.order({.before = 0, .after = 1}).has_value());
  REQUIRE(group.order({.before = 1, .after = 1}).has_value());
  REQUIRE(group.stream(1).run_on_host([&] { seen = before; }).has_value());
  CHECK_FALSE(group.stream(1).done().value());
  gate.open();
  CHECK(group.synchronize(much_later()).has_value());
  CHECK(seen);
}

TEST_CASE("memory of a peer is read in place, or from a copy where peers have no access") {
  for (const bool peer_access : {true, false}) {
    CAPTURE(peer_access);
    Replicas replicas({.count = 2, .peer_access = peer_access});
    DeviceGroup& group = replicas.group();
    const DeviceBuffer values = on_device<float>(group.stream(1), {1, 2});
    std::byte* const slot = group.copy_slot(0, 1);
    const std::byte* at =
        group.readable({.reader = 0, .owner = 1, .at = values.at(), .bytes = 8}, slot).value();
    CHECK(at == (peer_access ? values.at() : slot));
    const DeviceBuffer into = group.device(0).allocate(8).value();
    REQUIRE(group.stream(0).reduce({.count = 2, .sources = {at}, .into = into.at()}).has_value());
    CHECK(values_of<float>(group.stream(0), into, 2) == std::vector<float>{1, 2});
    CHECK(group.readable({.reader = 1, .owner = 1, .at = values.at(), .bytes = 8}, slot) ==
          values.at());
  }
}

TEST_CASE("synchronize waits for all streams, and fails with the first error") {
  Gate gate;
  Replicas replicas({.count = 3, .probe = [&](const ProbedCall& call) -> Result<> {
                       if (!call.runs || call.call != DeviceCall::run_on_host) return {};
                       if (call.device == 2) gate.pass();
                       return fail(Errc::os, "injected");
                     }});
  DeviceGroup& group = replicas.group();
  REQUIRE(group.stream(1).run_on_host([] {}).has_value());
  REQUIRE(group.stream(2).run_on_host([] {}).has_value());
  CHECK_FALSE(group.stream(1).synchronize(much_later()).has_value());
  check_error(group.synchronize(Clock::now()), Errc::os,
              "cpu:1 has failed and stays unusable: run_on_host: injected");
  gate.open();
  check_error(group.synchronize(much_later()), Errc::os,
              "cpu:1 has failed and stays unusable: run_on_host: injected");
  CHECK_FALSE(group.device(2).status().has_value());
}

}  // namespace
}  // namespace dt

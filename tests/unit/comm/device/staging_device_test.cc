#include "comm/device/staging_device.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

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

TEST_CASE("events come back for later calls, but none that is not yet reached") {
  Gate gate;
  std::atomic<int> made = 0;
  const auto device = open_one({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.call == DeviceCall::make_event) ++made;
    return {};
  }});
  const auto stream = device->device().make_stream().value();
  for (int i = 0; i < 3; ++i) {
    const auto first = device->take_event().value();
    const auto second = device->take_event().value();
    CHECK(first != second);
    REQUIRE(stream->record(*first));
    REQUIRE(stream->synchronize(much_later()));
  }
  CHECK(made == 2);
  REQUIRE(stream->run_on_host([&] { gate.pass(); }));
  REQUIRE(stream->record(*device->take_event().value()));
  const auto first = device->take_event().value();
  const auto second = device->take_event().value();
  CHECK(made == 3);
  CHECK(first->done().value());
  CHECK(second->done().value());
  gate.open();
}

TEST_CASE("copies go both ways, and the event behind them is reached also after a refusal") {
  const auto device = open_one();
  const DeviceBuffer memory = device->device().allocate(3).value();
  const DeviceBuffer pinned = device->take_pinned(3).value();
  const auto copied = device->device().make_event().value();
  std::array<std::byte, 3> values = {std::byte{1}, std::byte{2}, std::byte{3}};
  const MemoryCopy in = {memory.at(), values.data(), 3};
  REQUIRE(device->copy_results({in}, *copied).has_value());
  REQUIRE(copied->synchronize(much_later()).has_value());
  const std::vector<MemoryCopy> copies = {{pinned.at(), memory.at(), 3},
                                          {pinned.at(), memory.at(), 4}};
  const Result<> refused = device->copy_inputs(copies, {}, *copied);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::input);
  REQUIRE(copied->synchronize(much_later()).has_value());
  CHECK(std::equal(values.begin(), values.end(), pinned.at()));
}

TEST_CASE("no copy runs any more after a failure to record the event behind it") {
  std::atomic<bool> may_run = false;
  std::atomic<bool> has_run = false;
  const auto device = open_one({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.call == DeviceCall::synchronize) may_run = true;
    if (call.call == DeviceCall::copy && call.runs) {
      while (!may_run)
        std::this_thread::yield();
      has_run = true;
    }
    if (call.call == DeviceCall::record) return fail(Errc::os, "injected");
    return {};
  }});
  const DeviceBuffer memory = device->device().allocate(3).value();
  const DeviceBuffer pinned = device->take_pinned(3).value();
  const auto copied = device->device().make_event().value();
  CHECK_FALSE(device->copy_results({{memory.at(), pinned.at(), 3}}, *copied));
  CHECK(has_run);
  may_run = true;
}

TEST_CASE("copies behind a late stream hold up no copies behind another one") {
  Gate gate;
  const auto device = open_one();
  const DeviceBuffer memory = device->device().allocate(3).value();
  const DeviceBuffer pinned = device->take_pinned(3).value();
  const auto late = device->device().make_stream().value();
  const auto other = device->device().make_stream().value();
  REQUIRE(late->run_on_host([&] { gate.pass(); }));
  std::vector<std::unique_ptr<DeviceEvent>> copied;
  for (DeviceStream* const stream : {late.get(), other.get()}) {
    const std::shared_ptr<DeviceEvent> done = device->device().make_event().value();
    REQUIRE(stream->record(*done));
    copied.push_back(device->device().make_event().value());
    REQUIRE(device->copy_inputs({{pinned.at(), memory.at(), 3}}, {.stream = stream, .done = done},
                                *copied.back()));
  }
  CHECK(copied[1]->synchronize(much_later()));
  CHECK_FALSE(copied[0]->done().value());
  gate.open();
  CHECK(copied[0]->synchronize(much_later()));
}

TEST_CASE("one kernel makes many small copies, beside larger ones") {
  std::atomic<int> copies_run = 0;
  const auto device = open_one({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.runs && call.call == DeviceCall::copy) ++copies_run;
    return {};
  }});
  constexpr size_t large = 100'000;
  for (const auto& [count, calls] : {std::pair(15, 16), std::pair(16, 2), std::pair(100, 2)}) {
    const auto small_bytes = static_cast<size_t>(count);
    const DeviceBuffer memory = device->device().allocate(large + small_bytes).value();
    const DeviceBuffer pinned = device->take_pinned(large + small_bytes).value();
    std::memset(memory.at(), count, large + small_bytes);
    const auto copied = device->device().make_event().value();
    std::vector<MemoryCopy> copies = {{pinned.at(), memory.at(), large}};
    for (size_t i = 0; i < small_bytes; ++i)
      copies.push_back({pinned.at() + large + i, memory.at() + large + i, 1});
    copies_run = 0;
    REQUIRE(device->copy_inputs(copies, {}, *copied).has_value());
    REQUIRE(copied->synchronize(much_later()).has_value());
    CHECK(copies_run == calls);
    CHECK(std::memcmp(pinned.at(), memory.at(), large + small_bytes) == 0);
  }
}

}  // namespace
}  // namespace dt

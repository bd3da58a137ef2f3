#include "comm/device/stream_hold.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace dt {
namespace {

/// The hold of one operation on a device of the CPU, which has waits for numbers or not.
struct HeldDevice {
  explicit HeldDevice(bool has_numbers = true)
      : cpu({.probe = [has_numbers](const ProbedCall& call) -> Result<> {
          const bool by_number =
              call.call == DeviceCall::wait_value || call.call == DeviceCall::write_value;
          if (has_numbers || !by_number) return {};
          return fail(Errc::unsupported, "the driver has none");
        }}) {}
  std::shared_ptr<StreamHold> make() { return StreamHold::make(nullptr, numbers).value(); }
  /// True when a stream that waits for the hold has not passed it.
  bool waits() const { return !cpu.stream(0).done().value(); }
  bool passes() const { return cpu.stream(0).synchronize(much_later()).has_value(); }

  CpuDevices cpu;
  HoldNumbers numbers{*cpu.devices.front()};
};

TEST_CASE("work of a stream waits until other work, or the host, releases the hold") {
  for (const bool by_device : {true, false}) {
    HeldDevice device;
    const auto other = device.cpu.device(0).make_stream().value();
    const auto hold = device.make();
    CHECK(hold->hold(&device.cpu.stream(0)));
    CHECK(device.waits());
    if (by_device) {
      // The last of two calls releases it.
      hold->release_behind(*other, 2);
      CHECK(other->synchronize(much_later()));
      CHECK(device.waits());
      hold->release_behind(*other, 2);
    } else {
      hold->release();
      CHECK(hold->hold(&device.cpu.stream(0)));
    }
    CHECK(device.passes());
  }
}

TEST_CASE("a hold that ends releases its streams, and a late wait takes no later use for its own") {
  HeldDevice device;
  Gate gate;
  CHECK(device.cpu.stream(0).run_on_host([&] { gate.pass(); }));
  auto hold = device.make();
  CHECK(hold->hold(&device.cpu.stream(0)));
  hold.reset();
  const auto other = device.cpu.device(0).make_stream().value();
  const auto next = device.make();
  CHECK(next->hold(other.get()));
  gate.open();
  CHECK(device.passes());
  CHECK_FALSE(other->done().value());
  next->release();
  CHECK(other->synchronize(much_later()));
}

TEST_CASE("where the driver has no waits for numbers, a function of the host waits") {
  HeldDevice device(false);
  const auto hold = device.make();
  CHECK(hold->hold(&device.cpu.stream(0)));
  hold->release_behind(device.cpu.stream(0));
  CHECK(device.waits());
  hold->release();
  CHECK(device.passes());
}

TEST_CASE("a stream of another device is refused") {
  HeldDevice device;
  const auto hold = device.make();
  const Result<> refused = hold->hold(&device);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.starts_with("cpu:0 has no stream at"));
}

TEST_CASE("numbers are used again, and more are made when all are in use") {
  HeldDevice device;
  std::vector<HoldNumber> taken;
  for (int i = 0; i < 5000; ++i)
    taken.push_back(device.numbers.take().value());
  CHECK(taken.front().at != taken.back().at);
  device.numbers.keep(taken.back());
  const HoldNumber again = device.numbers.take().value();
  CHECK(again.at == taken.back().at);
  CHECK(again.value == taken.back().value + 1);
}

}  // namespace
}  // namespace dt

#include "gpu/cpu/cpu_event.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <atomic>

namespace dt {
namespace {

TEST_CASE("an event that was never recorded is reached, and nothing waits for it") {
  const CpuDevices cpu({});
  const auto event = cpu.device(0).make_event().value();
  CHECK(event->done().value());
  CHECK(event->synchronize(Clock::now()).has_value());
  CHECK(cpu.stream(0).wait(*event).has_value());
  CHECK(cpu.stream(0).synchronize(much_later()).has_value());
}

TEST_CASE("an event is reached when the calls before it have run") {
  Gate before;
  Gate after;
  const CpuDevices cpu({});
  const auto event = cpu.device(0).make_event().value();
  REQUIRE(cpu.stream(0).run_on_host([&] { before.pass(); }).has_value());
  REQUIRE(cpu.stream(0).record(*event).has_value());
  REQUIRE(cpu.stream(0).run_on_host([&] { after.pass(); }).has_value());
  CHECK_FALSE(event->done().value());
  check_error(event->synchronize(Clock::now()), Errc::timeout,
              "cpu:0: an event was not reached in time");
  before.open();
  CHECK(event->synchronize(much_later()).has_value());
  CHECK(event->done().value());
  CHECK_FALSE(cpu.stream(0).done().value());
  after.open();
}

TEST_CASE("a stream waits for an event of another stream, of the same device or another one") {
  const CpuDevices cpu({.count = 2});
  const auto second_stream = cpu.device(0).make_stream().value();
  for (DeviceStream* const waiting : {second_stream.get(), cpu.streams[1].get()}) {
    CAPTURE(waiting->device().name());
    Gate gate;
    std::atomic<int> written = 0;
    int seen = 0;
    const auto event = cpu.device(0).make_event().value();
    REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
    REQUIRE(cpu.stream(0).run_on_host([&] { written = 7; }).has_value());
    REQUIRE(cpu.stream(0).record(*event).has_value());
    REQUIRE(waiting->wait(*event).has_value());
    REQUIRE(waiting->run_on_host([&] { seen = written; }).has_value());
    CHECK_FALSE(waiting->done().value());
    gate.open();
    REQUIRE(waiting->synchronize(much_later()).has_value());
    CHECK(seen == 7);
  }
}

TEST_CASE("events order memory, so that no call needs a lock of its own") {
  const CpuDevices cpu({.count = 3});
  const DeviceBuffer number = on_device<int>(cpu.stream(0), {0});
  std::vector<std::unique_ptr<DeviceEvent>> events;
  for (const auto& device : cpu.devices)
    events.push_back(device->make_event().value());
  auto* const at = reinterpret_cast<int*>(number.at());
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      DeviceStream& stream = cpu.stream(i);
      REQUIRE(stream.run_on_host([at] { ++*at; }).has_value());
      REQUIRE(stream.record(*events[i]).has_value());
      REQUIRE(cpu.stream((i + 1) % 3).wait(*events[i]).has_value());
    }
  }
  CHECK(values_of<int>(cpu.stream(0), number, 1)[0] == 300);
}

TEST_CASE("a new record does not change the point for which a stream already waits") {
  const CpuDevices cpu({.count = 2});
  const auto event = cpu.device(0).make_event().value();
  const auto other_stream = cpu.device(0).make_stream().value();
  Gate first;
  Gate second;
  REQUIRE(cpu.stream(0).run_on_host([&] { first.pass(); }).has_value());
  REQUIRE(cpu.stream(0).record(*event).has_value());
  REQUIRE(cpu.stream(1).wait(*event).has_value());

  // The second point is reached before the first, and the waiting stream must not run yet.
  REQUIRE(other_stream->record(*event).has_value());
  CHECK(event->synchronize(much_later()).has_value());
  CHECK_FALSE(cpu.stream(1).done().value());

  // The third is not reached, and the stream runs as soon as the first is.
  REQUIRE(other_stream->run_on_host([&] { second.pass(); }).has_value());
  REQUIRE(other_stream->record(*event).has_value());
  first.open();
  CHECK(cpu.stream(1).synchronize(much_later()).has_value());
  CHECK_FALSE(event->done().value());
  second.open();
}

class ForeignEvent final : public DeviceEvent {
 public:
  Result<bool> done() const override { return true; }
  Result<> synchronize(Time) const override { return {}; }
};

TEST_CASE("a stream records events of its device only, and waits for its kind of device only") {
  const CpuDevices cpu({.count = 2});
  const auto event = cpu.device(1).make_event().value();
  ForeignEvent foreign;
  check_error(cpu.stream(0).record(*event), Errc::input,
              "cpu:0: record: the event belongs to another device");
  check_error(cpu.stream(0).record(foreign), Errc::input,
              "cpu:0: record: the event belongs to another device");
  check_error(cpu.stream(0).wait(foreign), Errc::input,
              "cpu:0: wait: the event belongs to another kind of device");
  CHECK(cpu.stream(0).synchronize(much_later()).has_value());
}

TEST_CASE("a fault of synchronize comes after the wait, and is not final") {
  bool faulty = true;
  const CpuDevices cpu({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.call == DeviceCall::synchronize && faulty) return fail(Errc::os, "injected");
    return {};
  }});
  const auto event = cpu.device(0).make_event().value();
  bool ran = false;
  REQUIRE(cpu.stream(0).run_on_host([&] { ran = true; }).has_value());
  REQUIRE(cpu.stream(0).record(*event).has_value());
  check_error(event->synchronize(much_later()), Errc::os, "cpu:0: synchronize: injected");
  CHECK(ran);
  check_error(cpu.stream(0).synchronize(much_later()), Errc::os, "cpu:0: synchronize: injected");
  faulty = false;
  CHECK(event->synchronize(much_later()).has_value());
  CHECK(cpu.stream(0).synchronize(much_later()).has_value());
}

TEST_CASE("the probe is called before the wait of synchronize, and may let the work run") {
  for (const bool by_event : {true, false}) {
    Gate gate;
    const CpuDevices cpu({.probe = [&](const ProbedCall& call) -> Result<> {
      if (call.call == DeviceCall::synchronize) gate.open();
      return {};
    }});
    const auto event = cpu.device(0).make_event().value();
    REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
    REQUIRE(cpu.stream(0).record(*event).has_value());
    CHECK((by_event ? event->synchronize(much_later()) : cpu.stream(0).synchronize(much_later()))
              .has_value());
    gate.open();
  }
}

TEST_CASE("an event of a failed device is reached, and has the device's error") {
  CpuDevices cpu({.count = 2, .probe = [](const ProbedCall& call) -> Result<> {
                    if (call.runs && call.device == 0 && call.call == DeviceCall::run_on_host)
                      return fail(Errc::os, "injected");
                    return {};
                  }});
  const auto event = cpu.device(0).make_event().value();
  REQUIRE(cpu.stream(0).record(*event).has_value());
  Gate ready;
  REQUIRE(cpu.stream(1).run_on_host([&] { ready.pass(); }).has_value());
  REQUIRE(cpu.stream(1).wait(*event).has_value());
  static_cast<void>(cpu.stream(0).run_on_host([] {}));
  const char* const message = "cpu:0 has failed and stays unusable: run_on_host: injected";
  check_error(cpu.stream(0).synchronize(much_later()), Errc::os, message);
  ready.open();
  CHECK(cpu.stream(1).synchronize(much_later()).has_value());
  check_error(event->done(), Errc::os, message);
  check_error(event->synchronize(much_later()), Errc::os, message);
}

}  // namespace
}  // namespace dt

#include "comm/device/queued_results.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>

namespace dt {
namespace {

/// The results of an operation, which a stream of its own writes when the gate is open.
struct ResultsOnStream {
  std::shared_ptr<DeviceEvent> queue_results() {
    REQUIRE(writer->run_on_host([&] { gate.pass(); }));
    std::shared_ptr<DeviceEvent> behind = cpu.device(0).make_event().value();
    REQUIRE(writer->record(*behind));
    return behind;
  }

  CpuDevices cpu{CpuDeviceOptions{}};
  Gate gate;
  std::unique_ptr<DeviceStream> writer = cpu.device(0).make_stream().value();
  QueuedResults results{std::shared_ptr<Device>(std::shared_ptr<void>(), cpu.devices[0].get())};
};

TEST_CASE("streams wait behind results that are queued") {
  ResultsOnStream made;
  const auto behind = made.queue_results();
  made.results.queue(behind);
  const auto other = made.cpu.device(0).make_stream().value();
  for (DeviceStream* const stream : {&made.cpu.stream(0), other.get()}) {
    CHECK(made.results.let_wait(stream, Time::max()).value());
    CHECK_FALSE(stream->done().value());
  }
  made.gate.open();
  CHECK(made.cpu.stream(0).synchronize(much_later()));
  CHECK(other->synchronize(much_later()));
}

TEST_CASE("no stream is held before the last results are queued: the caller waits") {
  ResultsOnStream made;
  CHECK(made.results.let_wait(&made.cpu.stream(0), Clock::now()).error().code == Errc::timeout);
  const auto behind = made.queue_results();
  made.results.queue(behind, 2);
  CHECK(made.results.let_wait(&made.cpu.stream(0), Clock::now()).error().code == Errc::timeout);
  CHECK(made.cpu.stream(0).synchronize(much_later()));
  std::thread late([&] { made.results.queue(behind, 2); });
  CHECK(made.results.let_wait(&made.cpu.stream(0), Time::max()).value());
  late.join();
  CHECK_FALSE(made.cpu.stream(0).done().value());
  made.gate.open();
  CHECK(made.cpu.stream(0).synchronize(much_later()));
}

TEST_CASE("nobody waits for results that will not be queued") {
  ResultsOnStream made;
  std::thread late([&] { made.results.release(); });
  CHECK_FALSE(made.results.let_wait(&made.cpu.stream(0), Time::max()).value());
  late.join();
  CHECK(made.cpu.stream(0).synchronize(much_later()));
}

TEST_CASE("streams wait for results that were queued before the operation ended") {
  ResultsOnStream made;
  made.results.queue(made.queue_results());
  made.results.release();
  CHECK(made.results.let_wait(&made.cpu.stream(0), Time::max()).value());
  CHECK_FALSE(made.cpu.stream(0).done().value());
  made.gate.open();
}

TEST_CASE("a stream of another device is refused") {
  ResultsOnStream made;
  const Result<bool> refused = made.results.let_wait(&made, Time::max());
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.starts_with("cpu:0 has no stream at"));
}

}  // namespace
}  // namespace dt

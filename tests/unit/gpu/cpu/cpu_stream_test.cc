#include "gpu/cpu/cpu_stream.h"

#include "gpu/kernels/peer_all_reduce.cuh"
#include "tests/unit/base/kernels/kernel_arrays.h"
#include "tests/unit/gpu/cpu_devices.h"

#include <atomic>
#include <numeric>

namespace dt {
namespace {

constexpr DeviceCall queued_calls[] = {
    DeviceCall::copy,        DeviceCall::fill,        DeviceCall::reduce,
    DeviceCall::sum_peers,   DeviceCall::write_value, DeviceCall::wait_value,
    DeviceCall::run_on_host, DeviceCall::record,      DeviceCall::wait};

/// A probe that fails one kind of call of device 0, as long as it is on.
struct Fault {
  std::atomic<bool> on = false;
  std::atomic<DeviceCall> call = DeviceCall::copy;
  std::atomic<bool> runs = false;

  CallProbe probe() {
    return [this](const ProbedCall& probed) -> Result<> {
      if (on && probed == ProbedCall{.device = 0, .call = call, .runs = runs})
        return fail(Errc::os, "injected");
      return {};
    };
  }
};

/// Sums nothing with no peer.
Result<> sum_alone(DeviceStream& stream) {
  static PeerSignals signals;
  PeerAllReduce call;
  call.place.signals[0] = &signals;
  return stream.sum_peers(ElementType::float32, call);
}

/// A number whose value does not matter.
uint32_t& any_value() {
  static uint32_t number = 0;
  return number;
}

/// Makes one call of this kind on stream 0.
Result<> make_call(const CpuDevices& cpu, DeviceCall call, const DeviceBuffer& buffer,
                   DeviceEvent& event) {
  DeviceStream& stream = cpu.stream(0);
  switch (call) {
    case DeviceCall::allocate:
      TRY(cpu.device(0).allocate(1));
      return {};
    case DeviceCall::allocate_on_stream:
      TRY(stream.allocate(1));
      return {};
    case DeviceCall::make_stream:
      TRY(cpu.device(0).make_stream());
      return {};
    case DeviceCall::make_event:
      TRY(cpu.device(0).make_event());
      return {};
    case DeviceCall::copy:
      return stream.copy({buffer.at(), buffer.at() + 8, 8});
    case DeviceCall::fill:
      return stream.fill(buffer.at(), std::byte{1}, 8);
    case DeviceCall::reduce:
      return stream.reduce({.count = 2, .sources = {buffer.at()}, .into = buffer.at()});
    case DeviceCall::sum_peers:
      return sum_alone(stream);
    case DeviceCall::write_value:
      return stream.write_value(&any_value(), 0);
    case DeviceCall::wait_value:
      return stream.wait_value(&any_value(), 0);
    case DeviceCall::run_on_host:
      return stream.run_on_host([] {});
    case DeviceCall::record:
      return stream.record(event);
    case DeviceCall::wait:
      return stream.wait(event);
    case DeviceCall::synchronize:
      return stream.synchronize(much_later());
  }
  return {};
}

TEST_CASE("a stream waits for a number that other streams write, or a later one") {
  const CpuDevices cpu({});
  const auto other = cpu.device(0).make_stream().value();
  uint32_t number = 0;
  bool ran = false;
  REQUIRE(cpu.stream(0).wait_value(&number, 5));
  REQUIRE(cpu.stream(0).run_on_host([&] { ran = true; }));
  REQUIRE(other->write_value(&number, 4));
  REQUIRE(other->synchronize(much_later()));
  CHECK_FALSE(cpu.stream(0).done().value());
  REQUIRE(other->write_value(&number, 6));
  REQUIRE(cpu.stream(0).synchronize(much_later()));
  CHECK(ran);
}

TEST_CASE("a stream of a device that has failed waits for no number") {
  Fault fault;
  fault.call = DeviceCall::fill;
  fault.runs = true;
  const CpuDevices cpu({.probe = fault.probe()});
  const DeviceBuffer buffer = cpu.device(0).allocate(8).value();
  const auto other = cpu.device(0).make_stream().value();
  const uint32_t number = 0;
  REQUIRE(cpu.stream(0).wait_value(&number, 1));
  fault.on = true;
  REQUIRE(other->fill(buffer.at(), std::byte{1}, 8));
  CHECK_FALSE(cpu.stream(0).synchronize(much_later()));
}

TEST_CASE("calls on a stream run in the order in which they are made") {
  const CpuDevices cpu({});
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i)
    REQUIRE(cpu.stream(0).run_on_host([&order, i] { order.push_back(i); }).has_value());
  REQUIRE(cpu.stream(0).synchronize(much_later()).has_value());
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(order == expected);
}

TEST_CASE("a call returns before it runs, and synchronize fails at its deadline") {
  Gate gate;
  const CpuDevices cpu({.probe = [&](const ProbedCall& call) -> Result<> {
    if (call.runs) gate.pass();
    return {};
  }});
  const DeviceBuffer buffer = cpu.device(0).allocate(8).value();
  REQUIRE(cpu.stream(0).fill(buffer.at(), std::byte{1}, 8).has_value());
  REQUIRE(cpu.stream(0).fill(buffer.at(), std::byte{2}, 4).has_value());
  CHECK_FALSE(cpu.stream(0).done().value());
  check_error(cpu.stream(0).synchronize(Clock::now()), Errc::timeout,
              "cpu:0: synchronize: 2 calls have not run in time");
  gate.open();
  REQUIRE(cpu.stream(0).synchronize(much_later()).has_value());
  CHECK(cpu.stream(0).done().value());
  CHECK(values_of<uint8_t>(cpu.stream(0), buffer, 8) ==
        std::vector<uint8_t>{2, 2, 2, 2, 1, 1, 1, 1});
}

TEST_CASE("the destructor of a stream waits for all its calls") {
  std::atomic<int> ran = 0;
  {
    const CpuDevices cpu({});
    for (int i = 0; i < 100; ++i)
      REQUIRE(cpu.stream(0).run_on_host([&] { ++ran; }).has_value());
  }
  CHECK(ran == 100);
}

TEST_CASE("copies go between host, device and another device, with and without peer access") {
  for (const bool peer_access : {true, false}) {
    CAPTURE(peer_access);
    const CpuDevices cpu({.count = 2, .peer_access = peer_access});
    const DeviceBuffer first = on_device<int>(cpu.stream(0), {1, 2, 3});
    const DeviceBuffer second = cpu.device(1).allocate(12).value();
    const DeviceBuffer pinned = cpu.device(1).allocate_pinned(12).value();
    REQUIRE(cpu.stream(1).copy({second.at(), first.at(), 12}).has_value());
    REQUIRE(cpu.stream(1).copy({pinned.at() + 4, second.at(), 8}).has_value());
    REQUIRE(cpu.stream(1).copy({nullptr, nullptr, 0}).has_value());
    CHECK(values_of<int>(cpu.stream(1), second, 3) == std::vector{1, 2, 3});
    CHECK(values_of<int>(cpu.stream(1), pinned, 3) == std::vector{-1, 1, 2});
  }
}

TEST_CASE("a stream reduces memory of its device, of peers and of pinned memory") {
  const CpuDevices cpu({.count = 2});
  const DeviceBuffer mine = on_device<float>(cpu.stream(0), {1, 2, 3});
  const DeviceBuffer of_peer = on_device<float>(cpu.stream(1), {10, 20, 30});
  const DeviceBuffer pinned = cpu.device(0).allocate_pinned(12).value();
  REQUIRE(cpu.stream(0).copy({pinned.at(), of_peer.at(), 12}).has_value());
  REQUIRE(cpu.stream(0)
              .reduce({.op = ReduceOp::average,
                       .count = 3,
                       .sources = {mine.at(), of_peer.at(), pinned.at()},
                       .into = mine.at(),
                       .also = {of_peer.at()},
                       .divisor = 3})
              .has_value());
  CHECK(values_of<float>(cpu.stream(0), mine, 3) == std::vector<float>{7, 14, 21});
  CHECK(values_of<float>(cpu.stream(0), of_peer, 3) == std::vector<float>{7, 14, 21});
}

TEST_CASE("wrong arguments are refused when the call is made, and change nothing") {
  const CpuDevices cpu({.count = 2, .peer_access = false});
  const DeviceBuffer mine = on_device<float>(cpu.stream(0), {1, 2});
  const DeviceBuffer of_peer = on_device<float>(cpu.stream(1), {3, 4});
  DeviceStream& stream = cpu.stream(0);
  check_error(stream.copy({mine.at() + 4, of_peer.at(), 8}), Errc::input,
              "cpu:0: copy: the destination has 8 bytes, which reach beyond a buffer of 8 bytes");
  check_error(stream.copy({mine.at(), nullptr, 8}), Errc::input, "cpu:0: copy: the source is null");
  check_error(stream.copy({mine.at(), mine.at() + 3, 4}), Errc::input,
              "cpu:0: copy: the ranges overlap");
  check_error(stream.copy({mine.at() + 3, mine.at(), 4}), Errc::input,
              "cpu:0: copy: the ranges overlap");
  check_error(stream.fill(of_peer.at(), std::byte{}, 8), Errc::input,
              "cpu:0: fill: the destination lies in memory of cpu:1, which cpu:0 cannot access");
  check_error(stream.reduce({.count = 2, .sources = {mine.at(), of_peer.at()}, .into = mine.at()}),
              Errc::input,
              "cpu:0: reduce: source 1 lies in memory of cpu:1, which cpu:0 cannot access");
  check_error(stream.reduce(
                  {.count = 2, .sources = {mine.at()}, .into = mine.at(), .also = {of_peer.at()}}),
              Errc::input,
              "cpu:0: reduce: other place of the result 0 lies in memory of cpu:1, which cpu:0 "
              "cannot access");
  check_error(stream.reduce({.count = 3, .sources = {mine.at()}, .into = mine.at()}), Errc::input,
              "cpu:0: reduce: source 0 has 12 bytes, which reach beyond a buffer of 8 bytes");
  check_error(stream.reduce({.count = 2, .into = mine.at()}), Errc::input,
              "cpu:0: reduce: cannot reduce: there are no arrays");
  CHECK(values_of<float>(stream, mine, 2) == std::vector<float>{1, 2});
  CHECK(cpu.device(0).status().has_value());
}

TEST_CASE("a fault when a call is made fails that call only") {
  Fault fault;
  const CpuDevices cpu({.probe = fault.probe()});
  const DeviceBuffer buffer = cpu.device(0).allocate(16).value();
  const auto event = cpu.device(0).make_event().value();
  for (int i = 0; i <= static_cast<int>(DeviceCall::synchronize); ++i) {
    const auto call = static_cast<DeviceCall>(i);
    const std::string message = "cpu:0: " + std::string(name_of(call)) + ": injected";
    CAPTURE(message);
    fault.call = call;
    fault.on = true;
    check_error(make_call(cpu, call, buffer, *event), Errc::os, message.c_str());
    fault.on = false;
    CHECK(make_call(cpu, call, buffer, *event).has_value());
    CHECK(cpu.stream(0).synchronize(much_later()).has_value());
  }
}

TEST_CASE("a fault while a call runs is final for its device, which names it in each later call") {
  for (const DeviceCall call : queued_calls) {
    const std::string message =
        "cpu:0 has failed and stays unusable: " + std::string(name_of(call)) + ": injected";
    CAPTURE(message);
    Fault fault;
    const CpuDevices cpu({.count = 2, .memory_bytes = 100, .probe = fault.probe()});
    DeviceBuffer buffer = on_device<float>(cpu.stream(0), {1, 2, 3, 4});
    const auto event = cpu.device(0).make_event().value();
    REQUIRE(cpu.stream(0).record(*event).has_value());
    const auto second_stream = cpu.device(0).make_stream().value();
    fault.call = call;
    fault.runs = true;
    fault.on = true;
    REQUIRE(make_call(cpu, call, buffer, *event).has_value());
    check_error(cpu.stream(0).synchronize(much_later()), Errc::os, message.c_str());
    fault.on = false;
    for (int i = 0; i <= static_cast<int>(DeviceCall::synchronize); ++i)
      check_error(make_call(cpu, static_cast<DeviceCall>(i), buffer, *event), Errc::os,
                  message.c_str());
    check_error(second_stream->synchronize(much_later()), Errc::os, message.c_str());
    check_error(second_stream->done(), Errc::os, message.c_str());
    check_error(cpu.device(0).status(), Errc::os, message.c_str());

    // The other device works, also after an event of the failed one, and nothing leaks.
    CHECK(cpu.stream(1).wait(*event).has_value());
    CHECK(cpu.stream(1).run_on_host([] {}).has_value());
    CHECK(cpu.stream(1).synchronize(much_later()).has_value());
    buffer = DeviceBuffer();
    CHECK(cpu.device(0).memory().free_bytes == 100);
  }
}

TEST_CASE("calls that are queued behind a failed one do not run") {
  Fault fault;
  fault.call = DeviceCall::fill;
  fault.runs = true;
  fault.on = true;
  Gate gate;
  const CpuDevices cpu({.probe = fault.probe()});
  const DeviceBuffer buffer = cpu.device(0).allocate(4).value();
  bool ran = false;
  REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
  REQUIRE(cpu.stream(0).fill(buffer.at(), std::byte{1}, 4).has_value());
  REQUIRE(cpu.stream(0).run_on_host([&] { ran = true; }).has_value());
  gate.open();
  CHECK_FALSE(cpu.stream(0).synchronize(much_later()).has_value());
  CHECK_FALSE(ran);
  CHECK(*buffer.at() == poison);
}

TEST_CASE("memory that is freed before its call runs is a failure, and harms nobody") {
  Gate gate;
  const CpuDevices cpu({});
  DeviceBuffer buffer = cpu.device(0).allocate(24).value();
  REQUIRE(cpu.stream(0).run_on_host([&] { gate.pass(); }).has_value());
  REQUIRE(cpu.stream(0).fill(buffer.at(), std::byte{1}, 24).has_value());
  std::byte* const freed = buffer.at();
  buffer = DeviceBuffer();
  check_error(cpu.stream(0).fill(freed, std::byte{1}, 24), Errc::input,
              "cpu:0: fill: the destination was freed");
  gate.open();
  check_error(cpu.stream(0).synchronize(much_later()), Errc::os,
              "cpu:0 has failed and stays unusable: fill: a buffer of 24 bytes was freed before "
              "the call ran");
}

}  // namespace
}  // namespace dt

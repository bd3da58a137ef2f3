#include "comm/device/staged_copies.h"

#include "tests/unit/gpu/cpu_devices.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>

namespace dt {
namespace {

/// A call of all_reduce on memory of a device.
struct StagedReduction {
  explicit StagedReduction(const CpuDeviceOptions& options = {})
      : cpu(options),
        device(StagingDevice::open(std::move(cpu.devices.front())).value()),
        stream(device->device().make_stream().value()),
        input(on_device(*stream, std::vector<int>{1, 2, 3})),
        output(device->device().allocate(sizeof(int) * 3).value()) {
    request.kind = OperationKind::all_reduce;
    request.type = ElementType::int32;
    request.count = 3;
    request.input = input.at();
    request.output = output.at();
  }
  Result<std::unique_ptr<DeviceCopies>> start(bool on_stream) {
    return StagedCopies::start({.device = device,
                                .earlier = on_stream ? record_earlier() : EarlierWork(),
                                .results = results,
                                .ranges = ranges_of(request, {}),
                                .executed = executed});
  }
  /// Returns the stream's work so far.
  EarlierWork record_earlier() const {
    std::shared_ptr<DeviceEvent> done = device->device().make_event().value();
    REQUIRE(stream->record(*done).has_value());
    return {.stream = stream.get(), .done = done};
  }
  /// Doubles the input, as an engine on the host would.
  void execute() const {
    const auto* const from = static_cast<const int*>(request.input);
    std::transform(from, from + 3, static_cast<int*>(request.output), [](int i) { return 2 * i; });
  }

  Gate gate;
  CpuDevices cpu;
  std::shared_ptr<StagingDevice> device;
  std::unique_ptr<DeviceStream> stream;
  DeviceBuffer input;
  DeviceBuffer output;
  std::shared_ptr<QueuedResults> results = device->expect_results();
  std::shared_ptr<Operation> executed = std::make_shared<Operation>();
  OperationRequest& request = executed->request;
};

/// Returns the step that follows when the copies before it have ended.
Result<DeviceStep> step_of(DeviceCopies& copies) {
  auto step = copies.next();
  for (const Time end = much_later(); step && step->kind == DeviceStep::Kind::waits;) {
    if (Clock::now() >= end) break;
    std::this_thread::yield();
    step = copies.next();
  }
  return step;
}

/// Waits until the engine gets the whole call.
bool input_copied(DeviceCopies& copies) {
  const auto step = step_of(copies);
  return step && step->kind == DeviceStep::Kind::runs && step->passes;
}

/// Waits for copies, which run on other threads.
bool wait_until(const std::function<Result<bool>()>& done) {
  const Time end = much_later();
  while (Clock::now() < end) {
    const Result<bool> now = done();
    if (!now || *now) return now.has_value();
    std::this_thread::yield();
  }
  return false;
}

TEST_CASE("the engine computes in pinned memory between two copies") {
  StagedReduction call;
  const auto copies = call.start(false).value();
  CHECK(call.request.input != call.input.at());
  CHECK(call.device->device().place_of(static_cast<const std::byte*>(call.request.output)).kind ==
        MemoryPlace::Kind::pinned);
  REQUIRE(input_copied(*copies));
  call.execute();
  REQUIRE(copies->start_results().has_value());
  REQUIRE(wait_until([&] { return copies->results_copied(); }));
  CHECK(values_of<int>(*call.stream, call.output, 3) == std::vector<int>{2, 4, 6});
}

TEST_CASE(
    "work of the caller's stream runs before the copies, and behind the results if it waits") {
  StagedReduction call;
  std::vector<int> late = {5, 6, 7};
  REQUIRE(call.stream->run_on_host([&] { call.gate.pass(); }).has_value());
  REQUIRE(call.stream->copy({call.input.at(), bytes_at(late), sizeof(int) * 3}).has_value());
  const auto copies = call.start(true).value();
  const auto passes = call.device->device().make_event().value();
  REQUIRE(call.stream->record(*passes).has_value());
  CHECK(copies->next()->kind == DeviceStep::Kind::waits);
  call.gate.open();
  REQUIRE(input_copied(*copies));
  REQUIRE(passes->synchronize(much_later()).has_value());
  // No stream is held before the results are queued.
  CHECK(call.results->let_wait(call.stream.get(), Clock::now()).error().code == Errc::timeout);
  call.execute();
  REQUIRE(copies->start_results().has_value());
  REQUIRE(call.results->let_wait(call.stream.get(), Time::max()).value());
  std::vector<int> seen(3);
  REQUIRE(call.stream->copy({bytes_at(seen), call.output.at(), sizeof(int) * 3}).has_value());
  REQUIRE(call.stream->synchronize(much_later()).has_value());
  CHECK(seen == std::vector<int>{10, 12, 14});
}

TEST_CASE("the end of the copies waits for them, and lets the stream continue") {
  for (const bool results : {false, true}) {
    Gate gate;
    std::atomic<bool> held = false;
    std::atomic<int> awaited = -1;  // events until the gate opens
    StagedReduction call({.probe = [&](const ProbedCall& probed) -> Result<> {
      if (held && probed.runs && probed.call == DeviceCall::copy) gate.pass();
      // Only a wait for the copy lets it run.
      if (probed.call == DeviceCall::synchronize && --awaited == 0) gate.open();
      return {};
    }});
    held = !results;
    auto copies = call.start(true).value();
    if (results) {
      REQUIRE(input_copied(*copies));
      call.execute();
      held = true;
      REQUIRE(copies->start_results().has_value());
    }
    awaited = results ? 2 : 1;
    copies.reset();
    const void* const copied = results ? call.output.at() : call.request.input;
    const std::vector<int> expected =
        results ? std::vector<int>{2, 4, 6} : std::vector<int>{1, 2, 3};
    CHECK(std::memcmp(copied, expected.data(), sizeof(int) * 3) == 0);
    gate.open();
    CHECK(call.stream->synchronize(much_later()).has_value());
  }
}

/// Holds the copies of one thread but the first.
struct HeldCopies {
  Result<> operator()(const ProbedCall& call) {
    if (!armed || !call.runs || call.call != DeviceCall::copy) return {};
    const bool first = count++ == 0;
    if (first) thread = std::this_thread::get_id();
    if (!first && thread == std::this_thread::get_id()) gate.pass();
    return {};
  }
  Gate gate;
  std::atomic<bool> armed = false;
  std::atomic<int> count = 0;
  std::atomic<std::thread::id> thread = {};
};

TEST_CASE("results of a chunk are copied while the input of the next one still is") {
  HeldCopies held;
  StagedReduction call({.probe = std::ref(held)});
  const size_t elements = chunk_bytes / sizeof(int);
  const size_t count = 2 * elements + 5;
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  const DeviceBuffer memory = on_device(*call.stream, values);
  call.request.input = call.request.output = memory.at();
  call.request.count = count;
  call.request.timeout = seconds(60);
  held.armed = true;
  const auto copies = call.start(false).value();
  std::vector<size_t> chunks;
  const auto execute = [&](const DeviceStep& step) {
    const OperationRequest& request = step.executed->request;
    CHECK(request.announced->count == count);
    auto* const numbers = static_cast<int*>(request.output);
    for (size_t i = 0; i < request.count; ++i)
      numbers[i] *= 2;
    chunks.push_back(request.count);
  };
  const auto first = step_of(*copies);
  CHECK_FALSE(first->passes);
  execute(*first);
  CHECK(copies->next()->kind == DeviceStep::Kind::waits);
  CHECK(copies->others_wait());
  // The input of the second chunk is held.
  REQUIRE(wait_until([&] { return copies->results_copied(); }));
  CHECK(values_of<int>(*call.stream, memory, 1)[0] == 2);
  held.gate.open();
  while (copies->others_wait())
    execute(*step_of(*copies));
  CHECK(chunks == std::vector<size_t>{elements, elements, 5});
  CHECK(copies->next()->kind == DeviceStep::Kind::results);
  REQUIRE(copies->start_results().has_value());
  REQUIRE(wait_until([&] { return copies->results_copied(); }));
  for (int& value : values)
    value *= 2;
  CHECK(values_of<int>(*call.stream, memory, count) == values);
}

TEST_CASE("a range beyond its memory is refused before anything is sent") {
  StagedReduction call;
  call.request.count = 1000;
  const auto refused = call.start(false);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::input);
}

TEST_CASE("a device that fails loses the input") {
  StagedReduction call({.probe = [&](const ProbedCall& probed) -> Result<> {
    if (!probed.runs || probed.call != DeviceCall::fill) return {};
    return fail(Errc::os, "broken");
  }});
  REQUIRE(call.stream->fill(call.output.at(), std::byte{0}, 1).has_value());
  CHECK_FALSE(call.stream->synchronize(much_later()).has_value());
  const auto refused = call.start(false);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("cpu:0 has failed") != std::string::npos);
}

TEST_CASE("a failure while the input is copied is reported when no copy runs any more") {
  std::atomic<bool> fails = false;
  StagedReduction call({.probe = [&](const ProbedCall& probed) -> Result<> {
    if (fails && probed.runs && probed.call == DeviceCall::copy) return fail(Errc::os, "broken");
    return {};
  }});
  REQUIRE(call.stream->run_on_host([&] { call.gate.pass(); }).has_value());
  fails = true;
  const auto copies = call.start(true).value();
  CHECK(copies->next()->kind == DeviceStep::Kind::waits);
  call.gate.open();
  CHECK_FALSE(input_copied(*copies));
  CHECK(copies->next().error().message.find("broken") != std::string::npos);
}

TEST_CASE("a result that the engine allocates goes to the device of the input") {
  StagedReduction call;
  call.request.kind = OperationKind::all_gather_v;
  call.request.output = nullptr;
  call.request.result = std::make_shared<OperationResult>();
  const auto copies = call.start(false).value();
  REQUIRE(input_copied(*copies));
  OperationResult& result = *call.request.result;
  result.counts = {3};
  result.allocate(sizeof(int));
  std::memcpy(result.data.get(), call.request.input, 3 * sizeof(int));
  REQUIRE(copies->start_results().has_value());
  REQUIRE(wait_until([&] { return copies->results_copied(); }));
  CHECK(call.device->device().place_of(result.at()).kind == MemoryPlace::Kind::device);
  std::vector<int> values(3);
  std::memcpy(values.data(), result.at(), 3 * sizeof(int));
  CHECK(values == std::vector<int>{1, 2, 3});
}

TEST_CASE("no copy behind the caller's stream runs any more when its device has failed") {
  std::atomic<bool> armed = false;
  std::atomic<bool> begun = false;
  std::atomic<bool> may_run = false;
  std::atomic<bool> has_run = false;
  std::function<void()> break_device;
  StagedReduction call({.probe = [&](const ProbedCall& probed) -> Result<> {
    if (!armed) return {};
    if (probed.call == DeviceCall::synchronize) may_run = true;
    if (probed.call == DeviceCall::fill && probed.runs) return fail(Errc::os, "injected");
    if (probed.call == DeviceCall::copy && probed.runs) {
      begun = true;
      while (!may_run)
        std::this_thread::yield();
      // An event that was not recorded is waited for, too, but for no time.
      for (int left = 100'000; left > 0; --left)
        std::this_thread::yield();
      has_run = true;
    }
    if (probed.call == DeviceCall::record && !probed.runs) {
      while (!begun)
        std::this_thread::yield();
      break_device();
      return fail(Errc::os, "injected");
    }
    return {};
  }});
  Device& device = call.device->device();
  const auto other = device.make_stream().value();
  break_device = [&] {
    REQUIRE(other->fill(call.output.at(), std::byte{1}, 1));
    while (device.status())
      std::this_thread::yield();
  };
  StagedCopies::Terms terms = {.device = call.device,
                               .earlier = call.record_earlier(),
                               .ranges = ranges_of(call.request, {}),
                               .executed = call.executed};
  armed = true;
  CHECK_FALSE(StagedCopies::start(std::move(terms)));
  CHECK(has_run);
  may_run = true;
}

}  // namespace
}  // namespace dt

#include "comm/driver/driver.h"

#include "comm/engine/groups.h"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/comm/transport/memory_link.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("asynchronous works proceed without being waited for, and end in any order of waiting") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    constexpr size_t works = 50;
    std::vector<std::vector<float>> arrays(works, std::vector<float>(5000, 1.0F));
    std::vector<dtrain::Work> pending;
    for (auto& array : arrays)
      pending.push_back(context.all_reduce_async(array));
    for (size_t i = works; i-- > 0;) {
      pending[i].wait();
      CHECK(pending[i].done());
      CHECK(arrays[i].back() == 4.0F);
    }
  }));
}

TEST_CASE("wait_for reports that a work is still pending, and the work proceeds") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<int> values = {1};
    if (context.rank() == 0) {
      dtrain::Work work = context.recv_async(values, 1);
      CHECK(!work.wait_for(std::chrono::milliseconds(0)));
      CHECK(!work.wait_for(std::chrono::milliseconds(20)));
      context.barrier();
      work.wait();
      CHECK(values[0] == 5);
    } else {
      context.barrier();
      values[0] = 5;
      context.send(values, 0);
    }
  }));
}

/// A link whose first read finds no memory.
class PoorLink final : public Link {
 public:
  explicit PoorLink(std::unique_ptr<Link> link) : link_(std::move(link)) {}
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    return link_->send_parts(parts);
  }
  Result<size_t> receive(std::span<std::byte> into) override {
    if (!thrown_) {
      thrown_ = true;
      throw std::bad_alloc();
    }
    return link_->receive(into);
  }
  bool exposed() const override { return false; }
  void close() override { link_->close(); }

 private:
  std::unique_ptr<Link> link_;
  bool thrown_ = false;
};

std::unique_ptr<Engine> one_of_two(int rank, std::unique_ptr<Link> link,
                                   Duration dead_after = seconds(5)) {
  std::vector<Engine::Peer> peers(2);
  for (int i = 0; i < 2; ++i)
    peers[static_cast<size_t>(i)].task = {.id = {"worker", i}, .rank = i};
  peers[static_cast<size_t>(1 - rank)].link = std::move(link);
  return std::make_unique<Engine>(Engine::Options{.rank = rank, .dead_after = dead_after},
                                  std::move(peers));
}

TEST_CASE("memory that runs out ends all operations, and the other ranks learn it") {
  const auto there = std::make_shared<MemoryPipe>();
  const auto back = std::make_shared<MemoryPipe>();
  Driver poor({.engine = one_of_two(
                   0, std::make_unique<PoorLink>(std::make_unique<MemoryLink>(there, back)))});
  const auto other = one_of_two(1, std::make_unique<MemoryLink>(back, there));
  const auto theirs = other->submit({.kind = OperationKind::barrier}, Clock::now());

  const Driver::Work work = poor.start({.kind = OperationKind::barrier});
  const auto outcome = poor.wait(work, Clock::now() + seconds(20));
  REQUIRE(outcome);
  REQUIRE(!*outcome);
  CHECK(outcome->error().code == Errc::os);
  // The announcement of its abort leaves with the next step.
  const Driver::Work later = poor.start({.kind = OperationKind::barrier});
  CHECK(poor.done(later));
  while (other->step(Clock::now())) {
  }
  REQUIRE(theirs->outcome);
  CHECK(theirs->outcome->error().code == Errc::peer_lost);
  CHECK(theirs->blamed_rank == 0);
}

/// A link whose reads wait for the test.
class SlowLink final : public Link {
 public:
  struct Latches {
    std::latch reading = std::latch(1);
    std::latch go_on = std::latch(1);
  };
  explicit SlowLink(Latches& latches) : latches_(latches) {}
  Result<size_t> send_parts(std::span<const ByteSpan> parts) override {
    size_t bytes = 0;
    for (const ByteSpan part : parts)
      bytes += part.size();
    return bytes;
  }
  Result<size_t> receive(std::span<std::byte>) override {
    if (!read_) latches_.reading.count_down();
    read_ = true;
    latches_.go_on.wait();
    return fail(Errc::closed, "closed");
  }
  bool exposed() const override { return false; }
  void close() override {}

 private:
  Latches& latches_;
  bool read_ = false;
};

TEST_CASE("a thread that starts an operation does not wait for the step of another thread") {
  SlowLink::Latches latches;
  Driver driver({.engine = one_of_two(0, std::make_unique<SlowLink>(latches), Duration::zero())});
  const OperationRequest barrier = {.kind = OperationKind::barrier};
  std::thread stepper([&] { static_cast<void>(driver.run(OperationRequest(barrier))); });
  latches.reading.wait();
  const Driver::Work first = driver.start(barrier);
  const Driver::Work second = driver.start(barrier);
  latches.go_on.count_down();
  // The stepper takes both from the inbox before its step ends; its call fails with the link.
  stepper.join();
  for (const Driver::Work& work : {first, second})
    CHECK(!driver.wait(work, Time::max())->has_value());
  CHECK(first->sequence == 2);
  CHECK(second->sequence == 3);
}

TEST_CASE("a request to the store ends when the driver finishes") {
  std::vector<Engine::Peer> peers(1);
  Driver driver({.engine = std::make_unique<Engine>(Engine::Options(), std::move(peers))});
  std::thread waiter([&] {
    const auto answer = driver.ask(WaitRequest{"never", timeout_max}, Time::max());
    CHECK(answer.error().code == Errc::closed);
  });
  driver.finish();
  waiter.join();
  CHECK(driver.ask(GetRequest{"k"}, Time::max()).error().code == Errc::closed);
}

/// The driver of a rank that is alone.
struct LoneDriver {
  LoneDriver() {
    std::vector<Engine::Peer> peers(1);
    peers[0].task.rank = 0;
    driver = std::make_unique<Driver>(
        Driver::Parts{.engine = std::make_unique<Engine>(Engine::Options(), std::move(peers))});
  }
  std::unique_ptr<Driver> driver;
};

OperationRequest barrier_in(uint32_t group) {
  return {.kind = OperationKind::barrier, .group = group};
}

/// Returns 0 after the end of the engine.
uint32_t next_group(Driver& driver) {
  const auto next = [](Engine& engine) { return Result<uint32_t>(engine.groups().next_number()); };
  return driver.with_engine(next).value_or(0);
}

TEST_CASE("each group has a new number, and ends when it is left") {
  const LoneDriver lone;
  Driver& driver = *lone.driver;
  const uint32_t first = next_group(driver);
  CHECK(first == 1);
  driver.create_group(first, {0});
  driver.create_group(first + 5, {0});
  CHECK(next_group(driver) == first + 6);
  CHECK(driver.run(barrier_in(first)).has_value());
  driver.leave_group(first);
  const Result<> left = driver.run(barrier_in(first));
  REQUIRE(!left);
  CHECK(left.error().code == Errc::closed);
  CHECK(driver.run(barrier_in(first + 5)).has_value());
}

TEST_CASE("a call has no argument of the call before it") {
  const LoneDriver lone;
  std::vector<float> values = {1, 2, 3};
  const OperationRequest sum = {.kind = OperationKind::all_reduce,
                                .count = values.size(),
                                .input = values.data(),
                                .output = values.data()};
  const OperationRequest parts = {.kind = OperationKind::all_to_all_v,
                                  .count = 2,
                                  .input = values.data(),
                                  .counts = {2},
                                  .result = std::make_shared<OperationResult>()};
  for (const float factor : {2.0F, 1.0F, 3.0F}) {
    OperationRequest scaled = sum;
    if (factor != 1) scaled.terms = OperationTerms{.prescale = factor};
    const float before = values[2];
    REQUIRE(lone.driver->run(std::move(scaled)).has_value());
    CHECK(values[2] == factor * before);
    REQUIRE(lone.driver->run(OperationRequest(parts)).has_value());
    CHECK(parts.result->counts == std::vector<size_t>{2});
    REQUIRE(lone.driver->run(OperationRequest(sum)).has_value());
    CHECK(values[2] == factor * before);
  }
}

TEST_CASE("a rank that is alone has a store, whose waits end by their deadline") {
  const LoneDriver lone;
  Driver& driver = *lone.driver;
  const Bytes value = {std::byte{7}};
  CHECK(driver.ask(SetRequest{"a", value}, Time::max()).has_value());
  const auto got = driver.ask(GetRequest{"a"}, Time::max());
  REQUIRE(got);
  CHECK(got->value == value);
  const auto missing = driver.ask(WaitRequest{"b", std::chrono::hours(1)}, driver.running_time());
  REQUIRE(!missing);
  CHECK(missing.error().code == Errc::timeout);
}

TEST_CASE("calls after the end fail, and change nothing") {
  const LoneDriver lone;
  Driver& driver = *lone.driver;
  driver.finish();
  driver.create_group(1, {0});
  driver.leave_group(1);
  CHECK(next_group(driver) == 0);
  const auto answer = driver.ask(GetRequest{"a"}, Time::max());
  REQUIRE(!answer);
  CHECK(answer.error().code == Errc::closed);
}

}  // namespace
}  // namespace dt

#include "comm/driver/driver.h"
#include "comm/engine/groups.h"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dt {
namespace {

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

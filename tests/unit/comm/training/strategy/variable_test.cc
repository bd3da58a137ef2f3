#include "comm/training/strategy/variable.h"

#include "comm/training/strategy/replica_devices.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::unique_ptr<ReplicaDevices> devices(const StrategyOptions& options, const char* count = "3") {
  return ReplicaDevices::open(options, {{"DTRAIN_CPU_DEVICES", count}}).value();
}

TEST_CASE("a strategy has all devices, the named ones, or the first one") {
  CHECK(devices({})->count() == 3);
  CHECK(devices({.name = StrategyName::one_device})->count() == 1);
  const auto named = devices({.devices = "2,0"});
  CHECK(named->device(0).name() == "cpu:2");
  CHECK(named->device(1).name() == "cpu:0");
  CHECK(named->stream(1).device().name() == "cpu:0");
  CHECK(ReplicaDevices::open({}, {}).value()->count() == 1);
  CHECK_FALSE(ReplicaDevices::open({.devices = "3"}, {{"DTRAIN_CPU_DEVICES", "3"}}));
}

TEST_CASE("a copy comes back from a device") {
  const auto all = devices({});
  const DeviceBuffer buffer = all->device(1).allocate(8).value();
  const double there = 2.5;
  double back = 0;
  REQUIRE(all->copy(1, {buffer.at(), reinterpret_cast<const std::byte*>(&there), 8}).has_value());
  REQUIRE(all->copy(1, {reinterpret_cast<std::byte*>(&back), buffer.at(), 8}).has_value());
  CHECK(back == there);
  CHECK(all->copy(1, {nullptr, nullptr, 0}).has_value());
}

TEST_CASE("a variable has a copy on each device, or one that all replicas share") {
  const auto three = devices({});
  const VariableTerms terms = {.name = "w", .count = 4};
  const auto mirrored = Variable::make(terms, *three, {}).value();
  CHECK(mirrored->copy_count() == 3);
  CHECK_FALSE(mirrored->shared());
  CHECK(mirrored->at(0) != mirrored->at(2));
  CHECK(three->device(2).place_of(mirrored->at(2)) == MemoryPlace{MemoryPlace::Kind::device, 2});
  const auto shared = Variable::make(terms, *three, {.shared = true}).value();
  CHECK(shared->shared());
  CHECK(shared->at(0) == shared->at(2));
  CHECK(three->device(0).place_of(shared->at(0)).kind == MemoryPlace::Kind::pinned);
  const auto one = devices({}, "1");
  const auto only = Variable::make(terms, *one, {.shared = true}).value();
  CHECK_FALSE(only->shared());
  CHECK(one->device(0).place_of(only->at(0)).kind == MemoryPlace::Kind::device);
}

TEST_CASE("a variable that is synchronized on read is never shared") {
  const auto three = devices({});
  const VariableTerms terms = {.name = "w", .count = 4, .on_read = true};
  CHECK(Variable::make(terms, *three, {.shared = true}).value()->copy_count() == 3);
}

TEST_CASE("a placed variable has one copy, on its device, which that replica updates") {
  const auto three = devices({.devices = "2,0,1"});
  const auto placed =
      Variable::make({.name = "w", .count = 4, .device = "/cpu:1"}, *three, {}).value();
  CHECK(placed->shared());
  CHECK(placed->owner() == 2);
  CHECK(placed->is_updated_by(2));
  CHECK_FALSE(placed->is_updated_by(0));
  CHECK(placed->at(0) == placed->at(2));
  CHECK(three->device(2).place_of(placed->at(0)) == MemoryPlace{MemoryPlace::Kind::device, 1});
  CHECK(placed->place() == "variable w is on cpu:1");
  const auto host = Variable::make({.name = "w", .count = 4, .device = "CPU"}, *three, {}).value();
  CHECK(three->device(0).place_of(host->at(0)).kind == MemoryPlace::Kind::pinned);
  CHECK(host->place() == "variable w is in memory of the host");
}

TEST_CASE("a variable on a device without a replica is refused, or falls back to the host") {
  const auto three = devices({});
  const VariableTerms terms = {.name = "w", .count = 4, .device = "/gpu:0"};
  const auto refused = Variable::make(terms, *three, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "no replica has the device \"/gpu:0\"; give one of cpu:0, cpu:1, cpu:2, or cpu");
  CHECK(Variable::make(terms, *three, {.soft = true}).value()->place() ==
        "variable w is in memory of the host: no replica has /gpu:0");
  const auto on_read =
      Variable::make({.name = "w", .count = 4, .on_read = true, .device = "0"}, *three, {});
  REQUIRE_FALSE(on_read);
  CHECK(on_read.error().message ==
        "it is synchronized on read, so each replica's device has a copy");
}

TEST_CASE("a variable that no device can hold is an error") {
  const auto three = devices({});
  const auto made = Variable::make({.name = "w", .count = size_t{1} << 40}, *three, {});
  REQUIRE_FALSE(made);
  CHECK(made.error().code == Errc::out_of_memory);
}

}  // namespace
}  // namespace dt

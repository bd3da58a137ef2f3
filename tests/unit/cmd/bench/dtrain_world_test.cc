#include "cmd/bench/dtrain_world.h"

#include "cmd/bench/measure.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace dt {
namespace {

dtrain_context* joined(const dtrain::InitOptions& options) {
  dtrain_init_options c = {};
  c.struct_size = sizeof c;
  c.role = options.role.c_str();
  c.task_index = options.task_index;
  c.rendezvous = options.rendezvous.c_str();
  c.token = options.token.c_str();
  c.job = options.job.c_str();
  c.generation = options.generation;
  return dtrain_init(&c, nullptr);
}

/// Measures the smallest size of the options on each of three ranks, which are threads. For a GPU,
/// two devices of the CPU stand in.
std::vector<SizeResult> measured(const BenchOptions& options) {
  constexpr int ranks = 3;
  World world({.size = ranks});
  std::vector<SizeResult> results(ranks);
  const auto outcomes = world.on_threads([&](int rank) {
    DtrainWorld joined_world(joined(world.init_options(rank)));
    std::unique_ptr<BenchDevice> device;
    if (options.on_gpu()) device = BenchDevice::open(rank, {{"DTRAIN_CPU_DEVICES", "2"}}).value();
    Measurement measurement(joined_world, options, device.get());
    const auto shapes = measurement.shapes();
    if (!shapes) throw std::runtime_error(shapes.error().message);
    const auto result = measurement.measure(shapes->front());
    if (!result) throw std::runtime_error(result.error().message);
    results[static_cast<size_t>(rank)] = *result;
  });
  for (const RankOutcome& outcome : outcomes)
    CHECK(outcome.text == "");
  return results;
}

TEST_CASE("every operation has exact results on three ranks, and equal times on all") {
  for (const OperationRow& row : bench_operations()) {
    for (const char* type : {"float32", "bfloat16", "int8", "float8_e4m3"}) {
      CAPTURE(row.name);
      CAPTURE(type);
      const std::vector<SizeResult> results = measured({.operation = row.operation,
                                                        .bytes_min = 30'000,
                                                        .bytes_max = 30'000,
                                                        .iterations = 2,
                                                        .warmups = 0,
                                                        .type = type});
      CHECK(wrong_in(results) == 0);
      CHECK(results.front().in_place.has_value() == row.in_place);
      CHECK(results.front().out_of_place == results.back().out_of_place);
      CHECK(results.front().in_place == results.back().in_place);
    }
  }
}

TEST_CASE("every operation has exact results in memory of devices") {
  for (const OperationRow& row : bench_operations()) {
    CAPTURE(row.name);
    const std::vector<SizeResult> results = measured({.operation = row.operation,
                                                      .bytes_min = 30'000,
                                                      .bytes_max = 30'000,
                                                      .iterations = 2,
                                                      .warmups = 0,
                                                      .device = "gpu"});
    CHECK(wrong_in(results) == 0);
    CHECK(results.front().in_place.has_value() == row.in_place);
  }
}

TEST_CASE("without a job a process is alone, and a wrong call is an error") {
  const auto world = DtrainWorld::join("auto");
  REQUIRE(world);
  CHECK((*world)->rank() == 0);
  CHECK((*world)->size() == 1);
  CHECK_FALSE((*world)->host().empty());
  CHECK((*world)->barrier());
  const auto wrong = (*world)->run({.type = static_cast<dtrain_type>(99)});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Errc::input);
  CHECK_FALSE(wrong.error().message.empty());
}

}  // namespace
}  // namespace dt

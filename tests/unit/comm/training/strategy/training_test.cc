#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/comm/training/strategy/worker_identity.h"

#include <numeric>
#include <vector>

namespace dt {
namespace {

using dtrain::MovingAverage;
using dtrain::Prefetch;
using dtrain::Range;
using dtrain::Replica;

/// Adds up the examples of a part, which are their numbers, and the even ones.
std::vector<double> sums_of(Replica&, Range part) {
  std::vector<double> sums(2);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    sums[0] += static_cast<double>(i);
    sums[1] += i % 2 == 0 ? 1 : 0;
  }
  return sums;
}

std::vector<int> squares_of(Replica&, Range part) {
  std::vector<int> squares;
  for (std::size_t i = part.begin; i < part.end; ++i)
    squares.push_back(static_cast<int>(i * i));
  return squares;
}

std::vector<int> squares(std::size_t count) {
  std::vector<int> all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(static_cast<int>(i * i));
  return all;
}

TEST_CASE("batches cover a range, and the last one may be smaller") {
  std::vector<Range> parts;
  dtrain::in_batches({3, 10}, 3, [&](Range part) { parts.push_back(part); });
  CHECK(parts == std::vector<Range>{{3, 6}, {6, 9}, {9, 10}});
  parts.clear();
  dtrain::in_batches({3, 3}, 3, [&](Range part) { parts.push_back(part); });
  CHECK(parts.empty());
}

TEST_CASE("an evaluation is the mean over all examples, whatever the parts") {
  for (const int devices : {1, 2, 3, 5}) {
    for (const std::size_t examples : {1, 2, 7, 100}) {
      for (const std::size_t batch : {1, 4, 1000}) {
        CAPTURE(devices);
        CAPTURE(examples);
        OneProcess one({.devices = devices});
        const auto means = dtrain::evaluate(one.strategy, examples, batch, sums_of);
        REQUIRE(means.size() == 2);
        CHECK(means[0] == doctest::Approx(static_cast<double>(examples - 1) / 2));
        CHECK(means[1] == doctest::Approx(static_cast<double>((examples + 1) / 2) /
                                          static_cast<double>(examples)));
        CHECK(dtrain::predict<int>(one.strategy, examples, batch, squares_of) == squares(examples));
      }
    }
  }
  OneProcess one;
  CHECK(dtrain::evaluate(one.strategy, 0, 10, sums_of).empty());
  CHECK(dtrain::predict<int>(one.strategy, 0, 10, squares_of).empty());
}

TEST_CASE("several workers evaluate and predict together, uneven ends included") {
  World world({.size = 3});
  check_all_well(world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = "multi_worker_mirrored", .devices = 2});
    for (const std::size_t examples : {2, 11}) {
      const auto means = dtrain::evaluate(strategy, examples, 2, sums_of);
      CHECK(means[0] == doctest::Approx(static_cast<double>(examples - 1) / 2));
      CHECK(dtrain::predict<int>(strategy, examples, 2, squares_of) == squares(examples));
    }
  }));
}

TEST_CASE("each worker of parameter servers evaluates all examples") {
  PsJob job({.workers = 2});
  dtrain::Strategy first =
      join_strategy(job, 0, {.name = "parameter_server", .request = {.asynchronous = true}});
  CHECK(dtrain::evaluate(first, 7, 2, sums_of)[0] == 3);
  CHECK(dtrain::predict<int>(first, 7, 2, squares_of) == squares(7));
}

TEST_CASE("parts with another number of sums are refused") {
  OneProcess one({.devices = 1});
  const std::string text = error_text([&] {
    dtrain::evaluate(one.strategy, 4, 2,
                     [](Replica&, Range part) { return std::vector<double>(part.begin + 1); });
  });
  CHECK(contains(text, "evaluate: the parts differ in the number of sums"));
}

TEST_CASE("a moving average follows its variable, on every copy once") {
  for (const char* const name : {"mirrored", "central_storage"}) {
    for (const bool through_host : {false, true}) {
      CAPTURE(name);
      OneProcess one({.name = name, .devices = 3});
      const std::vector<double> initial = {1, 2};
      const auto w = one.strategy.variable<double>("w", std::span<const double>(initial));
      MovingAverage<double> average(one.strategy, "w", w,
                                    {.decay = 0.5, .through_host = through_host});
      CHECK(average.read() == initial);
      w.write(std::vector<double>{3, 4});
      average.update();
      CHECK(average.read() == std::vector<double>{2, 3});
      average.update();
      CHECK(average.read() == std::vector<double>{2.5, 3.5});
      CHECK(w.read() == std::vector<double>{3, 4});
      one.strategy.run(
          [&](Replica& replica) { CHECK(replica.data(average.variable())[0] == 2.5); });
    }
  }
}

TEST_CASE("a moving average that warms up follows sooner, also after a checkpoint") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  const MovingAverage<double>::Options warm = {.decay = 0.999, .warms_up = true};
  double after = 0;
  {
    OneProcess one;
    const auto w = one.strategy.zeros<double>("w", 1);
    MovingAverage<double> average(one.strategy, "w", w, warm);
    w.write(std::vector<double>{1});
    average.update();
    CHECK(average.read()[0] == doctest::Approx(0.9));  // 1 / 10 of 0
    one.strategy.save(path);
    average.update();
    after = average.read()[0];
    CHECK(after == doctest::Approx(1 - 0.1 * 2 / 11));
  }
  OneProcess one;
  const auto w = one.strategy.zeros<double>("w", 1);
  MovingAverage<double> average(one.strategy, "w", w, warm);
  one.strategy.restore(path);
  average.update();
  CHECK(average.read()[0] == after);
}

TEST_CASE("prefetched batches arrive in order, on the device of their replica") {
  OneProcess one({.devices = 2});
  std::size_t filled = 0;
  Prefetch<float> batches(one.strategy, {.local_replica = 1, .count = 3},
                          [&](std::span<float> into) -> std::size_t {
                            if (filled == 5) return 0;
                            std::iota(into.begin(), into.end(), static_cast<float>(filled));
                            return ++filled == 5 ? 2 : 3;
                          });
  std::vector<float> firsts;
  std::size_t elements = 0;
  one.strategy.run([&](Replica& replica) {
    if (replica.local_index() == 0) return;
    for (auto batch = batches.next(); !batch.empty(); batch = batches.next()) {
      firsts.push_back(batch[0]);
      elements += batch.size();
    }
  });
  CHECK(firsts == std::vector<float>{0, 1, 2, 3, 4});
  CHECK(elements == 14);
  CHECK(batches.next().empty());
}

TEST_CASE("what the function that fills throws, the next batch throws") {
  OneProcess one;
  Prefetch<int> batches(one.strategy, {.count = 1},
                        [](std::span<int>) -> std::size_t { throw std::runtime_error("no data"); });
  std::string text;
  try {
    batches.next();
  } catch (const std::runtime_error& thrown) {
    text = thrown.what();
  }
  CHECK(text == "no data");
}

TEST_CASE("a strategy keeps within its memory on each device") {
  OneProcess one({.devices = 1, .request = {.device_memory = 1 << 20}});
  CHECK(one.strategy.zeros<double>("fits", 100'000).size() == 100'000);
  CHECK(error_text([&] { one.strategy.zeros<double>("large", 100'000); }) ==
        "variable \"large\": the strategy may have 1048576 bytes on cpu:0, has 800000, and needs "
        "800000 more; see --device-memory");
  // Memory that was freed can be used again.
  for (int i = 0; i < 5; ++i)
    Prefetch<char>(one.strategy, {.count = 50'000}, [](std::span<char>) { return 0; });
  CHECK(error_text([&] {
          Prefetch<char>(one.strategy, {.count = 100'000}, [](std::span<char>) { return 0; });
        }).starts_with("the strategy may have 1048576 bytes on cpu:0"));
  OneProcess two({.devices = 2, .request = {.device_memory = 1 << 20}});
  CHECK(error_text([&] {
          two.strategy.zeros<double>("w", 100'000);
        }).starts_with("variable \"w\": the strategy may have 1048576 bytes on cpu:0, has 262144"));
}

}  // namespace
}  // namespace dt

#include "comm/training/strategy/workers.h"

#include "tests/unit/comm/training/strategy/strategies.h"

#include <array>
#include <functional>
#include <vector>

namespace dt {
namespace {

using dtrain::Op;
using dtrain::Replica;

constexpr const char* several = "multi_worker_mirrored";

TEST_CASE("replicas of all workers reduce as those of one process do") {
  for (const size_t bytes_per_pack : {0, 1, 100, 1000000}) {
    CAPTURE(bytes_per_pack);
    World world({.size = 3, .per_host = 2});
    check_all_well(world.run([&](dtrain::Context& all) {
      dtrain::Strategy strategy = make_strategy(
          all, {.name = several, .devices = 2, .request = {.bytes_per_pack = bytes_per_pack}});
      CHECK(strategy.replicas() == 6);
      CHECK(strategy.first_replica() == 2 * static_cast<size_t>(all.rank()));
      CHECK(strategy.is_chief() == (all.rank() == 0));
      const std::vector<float> initial(2, static_cast<float>(all.rank() + 7));
      const auto w = strategy.variable<float>("w", std::span<const float>(initial));
      CHECK(w.read() == std::vector<float>(2, 7));
      const auto indices = strategy.run([&](Replica& replica) {
        const auto i = static_cast<int>(replica.index());
        std::vector<float> floats(1000, static_cast<float>(i));
        std::vector<float> more(3, 1);
        std::vector<int> ints(5, i);
        replica.all_reduce_list(std::array{std::span(floats), std::span(more)});
        replica.all_reduce(ints, Op::max);
        CHECK(floats == std::vector<float>(1000, 15));
        CHECK(more == std::vector<float>(3, 6));
        CHECK(ints == std::vector<int>(5, 5));
        std::vector<double> mean = {static_cast<double>(i)};
        replica.all_reduce(mean, Op::average);
        CHECK(mean[0] == 2.5);
        std::vector<float> gradient(2, 1);
        replica.apply<float>({{w, gradient}}, Op::sum,
                             [](auto, auto value, auto reduced) { value[0] += reduced[0]; });
        return i;
      });
      CHECK(w.read() == std::vector<float>{13, 7});
      CHECK(strategy.reduce(Op::sum, indices) == 15);
      const auto arrays = strategy.run([](Replica& replica) {
        return std::vector<int>(replica.index() % 3, 1 + int(replica.index()));
      });
      CHECK(strategy.gather(arrays) == std::vector<int>{2, 3, 3, 5, 6, 6});
    }));
  }
}

TEST_CASE("placed variables of several workers are reduced as others are") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = several, .devices = 3});
    const auto w = strategy.zeros<double>("w", 1, {.device = "cpu:2"});
    strategy.run([&](Replica& replica) {
      std::vector<double> gradient = {static_cast<double>(replica.index())};
      replica.apply<double>({{w, gradient}}, Op::average,
                            [](auto, auto value, auto reduced) { value[0] += reduced[0]; });
    });
    CHECK(w.read()[0] == 2.5);
  }));
}

TEST_CASE("variables of all workers: own values, and the values of the first replica") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = several, .devices = 2});
    const auto own = strategy.zeros<double>(
        "own", 1, {dtrain::Synchronization::on_read, dtrain::Aggregation::sum});
    own.write(std::vector<double>{100});
    const auto first =
        strategy.zeros<double>("first", 1, {.aggregation = dtrain::Aggregation::first_replica});
    strategy.run([&](Replica& replica) {
      replica.data(own)[0] += 1;
      const std::array<double, 1> value = {static_cast<double>(replica.index() + 5)};
      replica.assign<double>(first, value);
      CHECK(replica.data(first)[0] == 5);
    });
    CHECK(own.read()[0] == 104);
  }));
}

TEST_CASE("a step that fails on one worker ends the strategy at all, with its replica") {
  World world({.size = 3});
  const auto outcomes = world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = several, .devices = 2});
    const std::string text = error_text([&] {
      strategy.run([](Replica& replica) {
        std::array<double, 1> value = {1};
        replica.all_reduce(value);
        if (replica.index() == 3) throw std::runtime_error("boom");
        while (true)
          replica.all_reduce(value);
      });
    });
    const std::string reason = "replica 3 (cpu:1): boom";
    CHECK(text == (all.rank() == 1 ? reason : "rank 1: " + reason));
    CHECK(
        error_text([&] { strategy.run([](Replica&) {}); }).starts_with("the strategy has ended: "));
    // The job itself continues.
    std::vector<int> sum = {1};
    all.all_reduce(sum);
    CHECK(sum[0] == 3);
  });
  check_all_well(outcomes);
}

/// Returns the errors of two workers, each with a strategy of its own.
std::vector<RankOutcome> errors_of(const TestedStrategy& first, const TestedStrategy& second) {
  World world({.size = 2});
  return world.run([&](dtrain::Context& all) {
    const dtrain::Strategy made = make_strategy(all, all.rank() == 0 ? first : second);
  });
}

TEST_CASE("workers that differ get one error at every rank") {
  struct Case {
    TestedStrategy second;
    int rank;
    const char* text;
  };
  for (const Case& test :
       {Case{{.name = several, .devices = 3},
             1,
             "rank 1 has 3 devices, but rank 0 2; each worker needs equally many"},
        Case{{.name = "mirrored"}, 1, "rank 1 has the strategy mirrored, but rank 0 "},
        Case{{.name = several, .request = {.devices = "0,7"}},
             1,
             "no device \"7\"; this process has cpu:0, cpu:1"},
        Case{{.name = several, .request = {.bytes_per_pack = 9}},
             1,
             "rank 1 has 9 bytes_per_pack, but rank 0 0"}}) {
    for (const RankOutcome& outcome : errors_of({.name = several}, test.second)) {
      CHECK(outcome.code != DTRAIN_OK);
      CHECK(outcome.rank == test.rank);
      CHECK_MESSAGE(contains(outcome.text, test.text), outcome.text);
    }
  }
  for (const RankOutcome& outcome : errors_of({.name = "mirrored"}, {.name = "mirrored"}))
    CHECK(contains(outcome.text, "the job has 2 workers; use multi_worker_mirrored"));
}

TEST_CASE("variables that differ between workers are named with the rank") {
  World world({.size = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy = make_strategy(all, {.name = several});
    const std::string text =
        error_text([&] { strategy.zeros<double>("w", all.rank() == 0 ? 3 : 4); });
    CHECK(text ==
          "rank 1 has a variable \"w\" of float64[4], synchronized on write, by sum, but rank 0 a "
          "variable \"w\" of float64[3], synchronized on write, by sum");
  }));
}

TEST_CASE("a timeout between workers ends the strategy") {
  World world({.size = 2});
  const auto outcomes = world.run([](dtrain::Context& all) {
    dtrain::Strategy strategy =
        make_strategy(all, {.name = several, .request = {.timeout_ms = 2000}});
    if (all.rank() == 1) {
      all.store().wait("over");
      return;
    }
    const std::string text =
        error_text([&] { strategy.run([](Replica& replica) { replica.any(true); }); });
    CHECK_MESSAGE(contains(text, "timed out after 2s: rank 1"), text);
    all.store().set("over", "1");
  });
  check_all_well(outcomes);
}

/// Runs the program with the workers of four ranks.
void run_workers(const std::function<void(Workers&)>& program) {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([&](dtrain::Context& all) {
    const auto workers = Workers::join(all.get(), {.name = StrategyName::multi_worker_mirrored}, 0);
    REQUIRE(workers.has_value());
    program(**workers);
  }));
}

TEST_CASE("an error of the group keeps its kind and its rank, and has one prefix") {
  run_workers([](Workers& workers) {
    if (workers.rank() == 3) {
      workers.abort({Errc::input, "wrong"});
      return;
    }
    std::byte value{};
    const Result<> failed = workers.broadcast({&value, 1});
    REQUIRE_FALSE(failed);
    CHECK(failed.error() == Error{Errc::peer_lost, "rank 3: wrong", 3});
    CHECK(workers.status().error() ==
          Error{Errc::peer_lost, "the strategy has ended: rank 3: wrong", 3});
  });
}

}  // namespace
}  // namespace dt

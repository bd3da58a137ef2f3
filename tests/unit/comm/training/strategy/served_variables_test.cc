#include "comm/training/strategy/served_variables.h"

#include "tests/unit/comm/training/ps/ps_job.h"
#include "tests/unit/comm/training/strategy/strategies.h"
#include "tests/unit/comm/training/strategy/worker_identity.h"

#include <algorithm>

namespace dt {
namespace {

using dtrain::Op;
using dtrain::Replica;

const VariableTerms three_doubles = {.name = "w", .type = ElementType::float64, .count = 3};

std::vector<double> pulled(ServedVariables& served) {
  std::vector<double> values(3);
  REQUIRE(served.pull(three_doubles, reinterpret_cast<std::byte*>(values.data())).has_value());
  return values;
}

TEST_CASE("servers hold shared variables of float32 and float64 alone") {
  CHECK(ServedVariables::serves(three_doubles));
  VariableTerms terms = three_doubles;
  terms.type = ElementType::int64;
  CHECK_FALSE(ServedVariables::serves(terms));
  terms = three_doubles;
  terms.slot = true;
  CHECK_FALSE(ServedVariables::serves(terms));
  terms = three_doubles;
  terms.on_read = true;
  CHECK_FALSE(ServedVariables::serves(terms));
}

TEST_CASE("a worker's change becomes the servers', and an assigned value is exact") {
  PsJob job({.workers = 1, .servers = 2});
  JoinedTask joined = {.rendezvous = job.rendezvous().join_worker(0),
                       .claim = job.claim({"worker", 0})};
  const auto served = ServedVariables::connect({.chief = true}, std::move(joined)).value();
  const std::vector<double> initial = {1, 2, 3};
  const auto* const at = reinterpret_cast<const std::byte*>(initial.data());
  REQUIRE(served->declare(three_doubles, at).has_value());
  CHECK(pulled(*served) == initial);
  std::vector<double> value = {1.5, 2, -3};
  const ServedChange change = {&three_doubles, at, reinterpret_cast<std::byte*>(value.data())};
  REQUIRE(served->push({&change, 1}).has_value());
  CHECK(value == std::vector<double>{1.5, 2, -3});
  CHECK(pulled(*served) == value);
  const std::vector<double> wanted = {0.1, 1e-300, 12345.678};
  REQUIRE(
      served->assign(three_doubles, reinterpret_cast<const std::byte*>(wanted.data())).has_value());
  CHECK(pulled(*served) == wanted);
}

/// Makes the strategies of two workers on threads, and returns the first exception's text.
std::string with_two_workers(bool asynchronous,
                             const std::function<void(dtrain::Strategy&)>& body) {
  PsJob job({.workers = 2, .servers = 2});
  std::array<std::string, 2> failures;
  std::array<std::thread, 2> threads;
  for (int worker = 0; worker < 2; ++worker) {
    threads[static_cast<size_t>(worker)] = std::thread([&, worker] {
      try {
        dtrain::Strategy strategy = join_strategy(
            job, worker, {.name = "parameter_server", .request = {.asynchronous = asynchronous}});
        body(strategy);
      } catch (const std::exception& thrown) {
        failures[static_cast<size_t>(worker)] = thrown.what();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return failures[0].empty() ? failures[1] : failures[0];
}

TEST_CASE("a synchronous step is that of all replicas of all workers, by sum and by average") {
  CHECK(with_two_workers(false, [](dtrain::Strategy& strategy) {
          CHECK(strategy.workers() == 2);
          CHECK(strategy.replicas() == 4);
          CHECK(strategy.first_replica() == 2 * strategy.worker());
          const std::vector<double> initial = {10 + static_cast<double>(strategy.worker()), 20};
          const auto w = strategy.variable<double>("w", initial);
          const auto count = strategy.zeros<int>("count", 1);
          CHECK(w.read() == std::vector<double>{10, 20});
          strategy.run([&](Replica& replica) {
            for (const Op op : {Op::sum, Op::average}) {
              std::vector<double> gradient = {static_cast<double>(replica.index()), 1};
              replica.apply<double>({{w, gradient}}, op, [](auto, auto value, auto reduced) {
                for (size_t i = 0; i < value.size(); ++i)
                  value[i] -= reduced[i];
              });
            }
            CHECK(replica.data(w)[0] == 10 - 6 - 1.5);
            CHECK(replica.data(w)[1] == 20 - 4 - 1);
          });
          CHECK(w.read() == std::vector<double>{2.5, 15});
          count.write(std::vector<int>{7});
          CHECK(count.read()[0] == 7);
        }) == "");
}

TEST_CASE("asynchronous workers do not wait for each other, and no push is lost") {
  CHECK(with_two_workers(true, [](dtrain::Strategy& strategy) {
          const auto w = strategy.zeros<float>("w", 1);
          const size_t steps = strategy.is_chief() ? 3 : 30;
          for (size_t i = 0; i < steps; ++i) {
            strategy.run([&](Replica& replica) {
              std::vector<float> gradient = {1};
              replica.apply<float>({{w, gradient}}, Op::sum,
                                   [](auto, auto value, auto reduced) { value[0] += reduced[0]; });
            });
          }
          strategy.zeros<float>("over", 1).write(std::vector<float>{1});  // waits for all workers
          CHECK(w.read()[0] == 66);
        }) == "");
}

TEST_CASE("with a worker to spare, a step does not wait for the other, and values stay common") {
  PsJob job({.workers = 2});
  const TestedStrategy spare = {.name = "parameter_server", .request = {.ps_mode = "sync:1"}};
  dtrain::Strategy chief = join_strategy(job, 0, spare);
  const auto w = chief.zeros<double>("w", 1);
  const auto step = [&](dtrain::Strategy& strategy, const dtrain::Variable<double>& variable) {
    strategy.run([&](Replica& replica) {
      std::vector<double> gradient = {1};
      replica.apply<double>({{variable, gradient}}, Op::average,
                            [](auto, auto value, auto reduced) { value[0] -= reduced[0]; });
    });
  };
  for (int i = 0; i < 3; ++i)
    step(chief, w);
  CHECK(w.read()[0] == -3);
  // One that comes later continues with the value of the servers.
  dtrain::Strategy second = join_strategy(job, 1, spare);
  const auto same = second.zeros<double>("w", 1);
  step(second, same);
  CHECK(w.read()[0] == -4);
}

TEST_CASE("workers of a host reduce and push once, and hosts do not wait for each other") {
  PsJob job({.workers = 4, .servers = 2, .per_host = 2});
  std::vector<RankOutcome> outcomes(4);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&, worker] {
      outcomes[static_cast<size_t>(worker)] = World::outcome_of([&] {
        dtrain::Strategy strategy = join_strategy(
            job, worker,
            {.name = "parameter_server", .devices = 2, .request = {.ps_mode = "local-async"}});
        CHECK(strategy.replicas() == 8);
        const auto w = strategy.zeros<double>("w", 1);
        // The first host makes three steps, the second one.
        for (int step = 0; step < (worker < 2 ? 3 : 1); ++step) {
          strategy.run([&](Replica& replica) {
            std::vector<double> gradient = {static_cast<double>(replica.index())};
            replica.apply<double>({{w, gradient}}, Op::average,
                                  [](auto, auto value, auto reduced) { value[0] -= reduced[0]; });
          });
        }
        strategy.zeros<float>("over", 1).write(std::vector<float>{1});  // waits for all workers
        // The means of the hosts' replicas are 1.5 and 5.5.
        CHECK(w.read()[0] == -(3 * 1.5 + 5.5));
        const auto index = strategy.run([](Replica& replica) { return double(replica.index()); });
        CHECK(strategy.reduce(Op::max, index) == (worker < 2 ? 3 : 7));
      });
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  check_all_well(outcomes);
}

TEST_CASE("a checkpoint of parameter servers is restored by them and by other strategies") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/saved";
  const std::vector<double> weights = {0.1, -7, 1e-300};
  CHECK(with_two_workers(false, [&](dtrain::Strategy& strategy) {
          const auto w = strategy.zeros<double>("w", 3);
          w.write(weights);
          strategy.save(path);
        }) == "");
  OneProcess one;
  const auto w = one.strategy.zeros<double>("w", 3);
  one.strategy.restore(path);
  CHECK(w.read() == weights);
  CHECK(with_two_workers(false, [&](dtrain::Strategy& strategy) {
          const std::vector<double> others = {1, 1, 1};
          const auto restored = strategy.variable<double>("w", others);
          strategy.restore(path);
          CHECK(restored.read() == weights);
        }) == "");
}

TEST_CASE("a step that fails on one worker ends those of the others") {
  const std::string text = with_two_workers(false, [](dtrain::Strategy& strategy) {
    const auto w = strategy.zeros<double>("w", 1);
    const std::string failure = error_text([&] {
      strategy.run([&](Replica& replica) {
        if (replica.index() == 3) throw std::runtime_error("boom");
        std::vector<double> gradient = {1};
        replica.apply<double>({{w, gradient}}, Op::sum, [](auto, auto, auto) {});
      });
    });
    if (strategy.is_chief()) {
      CHECK_MESSAGE(contains(failure, "worker:1"), failure);
      return;
    }
    CHECK(failure == "replica 3 (cpu:1): boom");
    CHECK(error_text([&] { strategy.run([](Replica&) {}); }) ==
          "the strategy has ended: replica 3 (cpu:1): boom");
  });
  CHECK(text == "");
}

/// Returns why a step fails in which each replica applies a gradient of one value.
template <typename T>
std::string step_error(dtrain::Strategy& strategy, const dtrain::Variable<T>& variable, T value,
                       Op op) {
  return error_text([&] {
    strategy.run([&](Replica& replica) {
      std::vector<T> gradient = {value};
      replica.apply<T>({{variable, gradient}}, op, [](auto, auto, auto) {});
    });
  });
}

TEST_CASE("what servers cannot do is refused by name") {
  CHECK(with_two_workers(true, [](dtrain::Strategy& strategy) {
          const auto w = strategy.zeros<double>("w", 1);
          const auto count = strategy.zeros<int>("count", 1);
          if (strategy.is_chief()) {
            CHECK(contains(step_error(strategy, count, 1, Op::sum),
                           "variable \"count\" has no gradient under parameter_server"));
          } else {
            CHECK(contains(step_error(strategy, w, 1.0, Op::max),
                           "parameter servers reduce by sum or average, not by max"));
          }
        }) == "");
}

}  // namespace
}  // namespace dt

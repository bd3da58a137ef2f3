// Measures calls of strategies and parameter servers, with BYTES of float32. Prints the times of
// ROUNDS calls as `dtrain bench --format peers` does, in us.
//
//    strategy_speeds reduce BYTES ROUNDS     all_reduce of the replicas, in memory of their devices
//    strategy_speeds push BYTES ROUNDS       push to the parameter servers
//    strategy_speeds push_pull BYTES ROUNDS  push, and the new values
//    strategy_speeds pull BYTES ROUNDS       the values alone
//    strategy_speeds links BYTES ROUNDS      each rank of the first half sends to one of the second
//                                            half, which sends the same bytes back
//    strategy_speeds steps MODE COUNT MS LAST_MS
//
// `steps` pushes and pulls 4 KiB again and again for two seconds, and prints steps a second of this
// worker. Between two pushes it waits for MS, as for a device that computes; the last worker for
// LAST_MS. MODE is async, or sync with COUNT workers a step.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dtrain/dtrain.hpp>
#include <dtrain/dtrain_ps.hpp>
#include <dtrain/dtrain_strategy.hpp>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// The first calls touch memory for the first time.
constexpr std::size_t warm_up = 3;

struct Measurement {
  std::string operation;
  std::size_t count = 0;  ///< of float32
  std::size_t rounds = 0;
};

/// Returns the times of `call` in us, without those of the first calls.
template <class Call>
std::vector<double> times_of(const Measurement& measurement, const Call& call) {
  std::vector<double> times;
  for (std::size_t round = 0; round < measurement.rounds + warm_up; ++round) {
    const Clock::time_point begin = Clock::now();
    call();
    const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
    if (round >= warm_up) times.push_back(time.count());
  }
  return times;
}

/// Prints the line of one rank. `wrong` is the number of wrong results.
void print(const Measurement& measurement, std::vector<double> times, int wrong) {
  if (times.empty()) return;
  std::ranges::sort(times);
  const auto part = [&](std::size_t percent) { return times[(times.size() - 1) * percent / 100]; };
  std::printf("dtrain\t%s\t1\t%zu\t%zu\t%.2f\t%.2f\t%.2f\t0\t0\t0\t%d\n",
              measurement.operation.c_str(), measurement.count * sizeof(float), times.size(),
              part(0), part(50), part(99), wrong);
}

int rank_of_environment() {
  const char* const rank = std::getenv("DTRAIN_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

void measure_reduce(const Measurement& measurement) {
  dtrain::Strategy strategy;
  const auto own = strategy.zeros<float>("own", measurement.count,
                                         {.synchronization = dtrain::Synchronization::on_read});
  strategy.run([&](dtrain::Replica& replica) {
    const std::span<float> values = replica.data(own);
    std::ranges::fill(values, 1.0F);
    std::vector<double> times =
        times_of(measurement, [&] { replica.all_reduce(values, dtrain::Op::average); });
    const bool right = std::ranges::all_of(values, [](float value) { return value == 1.0F; });
    if (replica.index() == 0 && strategy.is_chief())
      print(measurement, std::move(times), right ? 0 : 1);
  });
}

/// Each push subtracts one from every value.
void measure_servers(const Measurement& measurement) {
  dtrain::ParameterServers ps;
  ps.declare({{.name = "w", .shape = {measurement.count}, .learning_rate = 1}});
  const std::vector<float> gradient(measurement.count, 1);
  std::vector<float> values(measurement.count, 1);
  const std::vector<dtrain::PsArray> push = {dtrain::PsArray::push<float>("w", gradient)};
  const std::vector<dtrain::PsArray> pull = {dtrain::PsArray::pull<float>("w", values)};
  const std::vector<dtrain::PsArray> both = {
      dtrain::PsArray::push_pull<float>("w", gradient, values)};
  ps.barrier();
  std::vector<double> times = times_of(measurement, [&] {
    if (measurement.operation == "push") ps.push(push);
    if (measurement.operation == "pull") ps.pull(pull);
    if (measurement.operation == "push_pull") ps.push_pull(both);
  });
  ps.barrier();
  ps.pull(pull);
  const auto pushes = static_cast<float>(measurement.operation == "pull" ? 0 : ps.step());
  const bool right = std::ranges::all_of(values, [&](float value) { return value == -pushes; });
  if (rank_of_environment() == 0) print(measurement, std::move(times), right ? 0 : 1);
}

void measure_links(const Measurement& measurement) {
  dtrain::Context world = dtrain::init();
  std::vector<float> values(measurement.count, static_cast<float>(world.rank()));
  const int half = world.size() / 2;
  const bool first = world.rank() < half;
  const int other = first ? world.rank() + half : world.rank() - half;
  world.barrier();
  std::vector<double> times = times_of(measurement, [&] {
    if (first) world.send(std::span<const float>(values), other);
    world.recv(std::span(values), other);
    if (!first) world.send(std::span<const float>(values), other);
  });
  world.barrier();
  const auto expected = static_cast<float>(first ? world.rank() : other);
  const bool right = std::ranges::all_of(values, [&](float value) { return value == expected; });
  if (world.rank() == 0) print(measurement, std::move(times), right ? 0 : 1);
}

struct Steps {
  std::string_view mode;
  int count = 0;
  std::chrono::milliseconds computing{0};
};

void measure_steps(const Steps& steps) {
  constexpr std::size_t count = 1024;
  constexpr std::chrono::seconds measured(2);
  dtrain::ParameterServers ps;
  ps.declare({{.name = "w", .shape = {count}, .learning_rate = 1}});
  const std::vector<float> gradient(count, 1);
  std::vector<float> values(count);
  if (steps.mode == "sync" && rank_of_environment() == 0)
    ps.set_mode(dtrain::PsMode::sync, steps.count);
  ps.barrier();
  const Clock::time_point begin = Clock::now();
  int done = 0;
  while (Clock::now() - begin < measured) {
    std::this_thread::sleep_for(steps.computing);
    ps.push_pull({dtrain::PsArray::push_pull<float>("w", gradient, values)});
    ++done;
  }
  const std::chrono::duration<double> time = Clock::now() - begin;
  std::printf("worker %d: %.1f steps a second\n", rank_of_environment(), done / time.count());
}

void measure(std::span<char*> arguments) {
  const Measurement measurement = {
      .operation = arguments[0],
      .count = std::strtoull(arguments[1], nullptr, 10) / sizeof(float),
      .rounds = std::strtoull(arguments[2], nullptr, 10)};
  if (measurement.operation == "reduce") {
    measure_reduce(measurement);
  } else if (measurement.operation == "links") {
    measure_links(measurement);
  } else {
    measure_servers(measurement);
  }
}

void measure_steps(std::span<char*> arguments) {
  const char* const size = std::getenv("DTRAIN_SIZE");
  const int last = size == nullptr ? 0 : std::atoi(size) - 1;
  const char* const ms = arguments[rank_of_environment() == last ? 4 : 3];
  measure_steps({.mode = arguments[1],
                 .count = std::atoi(arguments[2]),
                 .computing = std::chrono::milliseconds(std::atoi(ms))});
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::array<std::string_view, 5> operations = {"reduce", "push", "push_pull", "pull",
                                                          "links"};
  const std::span<char*> arguments = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
  const std::string_view operation = arguments.empty() ? "" : arguments[0];
  const bool known = std::ranges::find(operations, operation) != operations.end();
  try {
    if (known && arguments.size() == 3) {
      measure(arguments);
    } else if (operation == "steps" && arguments.size() == 5) {
      measure_steps(arguments);
    } else {
      std::fprintf(stderr,
                   "usage: strategy_speeds reduce|push|push_pull|pull|links BYTES ROUNDS\n"
                   "       strategy_speeds steps async|sync COUNT MS LAST_MS\n");
      return 2;
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strategy_speeds: %s\n", error.what());
    return 1;
  }
}

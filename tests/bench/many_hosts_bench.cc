#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"
#include "rendezvous/cluster/cluster_spec.h"
#include "rendezvous/store/store.h"
#include "tests/sim/job/job_world.h"

#include <benchmark/benchmark.h>

#include <ctime>
#include <stdexcept>
#include <utility>

// The launcher's cost of a job on many hosts. Some benchmarks encode and decode the messages of the
// start. One simulates the whole job (tests/sim/job), with its hosts and network.

namespace dt {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

constexpr int tasks_per_host = 8;

Plan plan_of(int64_t hosts) {
  PlanRequest request;
  for (int64_t host = 0; host < hosts; ++host)
    request.hosts.push_back({.name = format("node{:04}", host), .slots = tasks_per_host});
  return must(make_plan(request));
}

TaskTable table_of(const Plan& plan) {
  Reach reach;
  for (size_t host = 0; host < plan.hosts.size(); ++host)
    reach.hosts.push_back({.ips = {format("10.0.{}.{}", host / 250, host % 250 + 1)}});
  return task_table(plan, "job", reach);
}

/// An environment of the size that a login shell typically has.
Environment forwarded() {
  Environment all;
  for (int i = 0; i < 60; ++i)
    all[format("VARIABLE_{}", i)] = std::string(60, 'v');
  return all;
}

void count(benchmark::State& state, size_t bytes) {
  state.counters["bytes_per_host"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
  state.counters["cpu_per_host"] = benchmark::Counter(
      static_cast<double>(state.range(0)),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void prepare_orders_of_all(benchmark::State& state) {
  const Plan plan = plan_of(state.range(0));
  RunConfig config;
  config.command = {"python", "train.py"};
  const Token token = must(Token::random());
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    for (const Prepare& order : prepare_orders(
             config, plan, {.token = token, .job = "job", .generation = 1}, forwarded(), true)) {
      const Bytes encoded = encode(order);
      bytes += encoded.size();
      benchmark::DoNotOptimize(must(decode<Prepare>(encoded)));
    }
  }
  count(state, bytes);
}

void welcomes_of_all(benchmark::State& state) {
  const Plan plan = plan_of(state.range(0));
  const TaskTable table = table_of(plan);
  size_t bytes = 0;
  for (auto _ : state) {
    Store store(table);
    bytes = 0;
    for (size_t task = 0; task < plan.tasks.size(); ++task) {
      if (!store.join(task + 1, plan.tasks[task].id, 77)) throw std::runtime_error("not joined");
      bytes += store.welcome(task + 1, seconds(5)).size();
    }
  }
  count(state, bytes);
}

void read_one_welcome(benchmark::State& state) {
  const Plan plan = plan_of(state.range(0));
  Store store(table_of(plan));
  if (!store.join(1, plan.tasks.front().id, 77)) throw std::runtime_error("not joined");
  const Bytes welcome = store.welcome(1, seconds(5));
  for (auto _ : state)
    benchmark::DoNotOptimize(must(decode_welcome(welcome)));
  state.counters["bytes"] = static_cast<double>(welcome.size());
}

double cpu_seconds() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

/// Simulates a whole job with one task on each host. `joined_s` is the simulated time until every
/// task has read in the store that all have joined. `joined_cpu_s` is the CPU time of launcher,
/// hosts and network together until then.
void simulated_job(benchmark::State& state) {
  for (auto _ : state) {
    Random random(1);
    Scenario scenario = large_scenario(random, static_cast<size_t>(state.range(0)), 1);
    JobWorld world("bench", random, std::move(scenario));
    const double before = cpu_seconds();
    world.when_joined([&] { state.counters["joined_cpu_s"] = cpu_seconds() - before; });
    world.run();
    if (!world.judge().complaint().empty()) throw std::runtime_error(world.judge().complaint());
    state.counters["joined_s"] = std::chrono::duration<double>(*world.joined_after()).count();
  }
}

BENCHMARK(prepare_orders_of_all)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(welcomes_of_all)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(read_one_welcome)->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(simulated_job)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dt

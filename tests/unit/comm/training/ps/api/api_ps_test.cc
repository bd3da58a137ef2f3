#include "comm/include/dtrain/dtrain_ps.hpp"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/comm/training/ps/worker_identity.h"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace dt {
namespace {

;

TEST_CASE("a program declares, pushes, pulls, saves and counts through the public API") {
  const TemporaryFolder folder;
  PsJob job({.workers = 1, .servers = 2});
  const WorkerIdentity identity(job, 0);
  dtrain::ParameterServers ps({.identity = identity.get()});
  const std::array<float, 2> w = {10, 20};
  const double b = 5;
  ps.declare({{.name = "w", .shape = {2}, .initial = w.data(), .learning_rate = 0.5},
              {.name = "b", .type = DTRAIN_FLOAT64, .initial = &b, .learning_rate = 1}});
  CHECK(contains(ps.table(), "server 1: 8 bytes"));

  const std::array<float, 2> gradient = {2, 4};
  std::array<float, 2> values = {};
  const double b_gradient = 1;
  double b_value = 0;
  const dtrain::PsPushed pushed = ps.push_pull(
      {dtrain::PsArray::push_pull<float>("w", gradient, values),
       dtrain::PsArray::push_pull<double>("b", std::span(&b_gradient, 1), std::span(&b_value, 1))});
  CHECK(pushed.counted);
  CHECK(pushed.step == 1);
  CHECK(values == std::array<float, 2>{9, 18});
  CHECK(b_value == 4);

  const std::string path = folder.path() + "/model";
  ps.save(path);
  CHECK(ps.push({dtrain::PsArray::push<float>("w", gradient)}, {.clip_norm = 1}).norm ==
        doctest::Approx(4.4721));
  CHECK(ps.load(path) == 1);
  const std::array<std::int64_t, 1> rows = {1};
  std::array<float, 1> row = {};
  CHECK(ps.pull({{.name = "w", .values = row.data(), .count = 1, .rows = rows}}) == 1);
  CHECK(row[0] == 18);
  ps.barrier();
  ps.set_mode(dtrain::PsMode::sync);
  CHECK(ps.push({dtrain::PsArray::push<float>("w", gradient)}).step == 2);
  CHECK(ps.step() == 2);
  const dtrain_ps_statistics counts = ps.statistics();
  CHECK(counts.pushes == 3);
  CHECK(counts.own_pushes == 3);
  CHECK(counts.stale == 0);
  CHECK(counts.bytes == 16);
}

TEST_CASE("a process uses collectives and parameter servers through one context") {
  PsJob job({.workers = 2, .servers = 2});
  std::vector<std::thread> workers;
  std::array<RankOutcome, 2> outcomes;
  for (int index = 0; index < 2; ++index) {
    workers.emplace_back([&, index] {
      outcomes[static_cast<size_t>(index)] = World::outcome_of([&] {
        const WorkerIdentity identity(job, index);
        dtrain_error error = new_error();
        dtrain::Context world(dtrain_init(identity.get(), &error));
        REQUIRE_MESSAGE(world.get() != nullptr, error.text);
        dtrain::ParameterServers ps({.context = world.get()});
        ps.declare({{.name = "w", .shape = {1}, .learning_rate = 1}});
        std::array<float, 1> gradient = {static_cast<float>(index)};
        world.all_reduce(gradient);
        ps.push({dtrain::PsArray::push<float>("w", gradient)});
        ps.barrier();
        std::array<float, 1> value = {};
        CHECK(ps.pull({dtrain::PsArray::pull<float>("w", value)}) == 2);
        CHECK(value[0] == -2);
        world.barrier();
        if (index == 0) {
          job.stop(1);
          job.rendezvous().notify({Notice::Kind::dead, {"ps", 1}, "killed by SIGKILL"});
        }
        world.barrier();
        const RankOutcome lost = World::outcome_of([&] { ps.statistics(); });
        CHECK(lost.code == DTRAIN_ERROR_PEER_LOST);
        CHECK(lost.text == "the parameter server ps:1 on store1 died: killed by SIGKILL");
        world.barrier();
      });
    });
  }
  for (std::thread& worker : workers)
    worker.join();
  for (const RankOutcome& outcome : outcomes)
    CHECK_MESSAGE(outcome.code == DTRAIN_OK, outcome.text);
}

struct Mapping {
  void* at;
  size_t bytes;
};

/// Returns where this process has mapped memory of libdtrain's connections.
std::vector<Mapping> mapped_connections() {
  std::vector<Mapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (!contains(line, "memfd:dtrain")) continue;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    found.push_back({reinterpret_cast<void*>(begin), end - begin});
  }
  return found;
}

/// In a fork: uses the places of the connections for other memory, and closes. Returns true if that
/// memory is still there.
bool keeps_memory(dtrain_ps* ps, const std::vector<Mapping>& places) {
  for (const Mapping& place : places) {
    if (mmap(place.at, place.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place.at)
      return false;
  }
  dtrain_ps_close(ps);
  std::array<unsigned char, 1> resident = {};
  return std::ranges::all_of(
      places, [&](const Mapping& place) { return mincore(place.at, 1, resident.data()) == 0; });
}

TEST_CASE("a fork that closes the parameter servers loses no memory of its own") {
  PsJob job({.workers = 1, .network = PsJob::Network::one_host});
  const WorkerIdentity identity(job, 0);
  const dtrain::ParameterServers ps({.identity = identity.get()});
  const std::vector<Mapping> places = mapped_connections();
  // The worker and the server have one each, if each can have a core.
  CHECK(places.size() == (SpinPoll(job.rendezvous().table(), 0).stays_awake() ? 2 : 0));
  const pid_t child = fork();
  if (child == 0) _exit(keeps_memory(ps.get(), places) ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a context that is alone leads to no parameter server") {
  const Alone alone;
  const RankOutcome outcome =
      World::outcome_of([&] { dtrain::ParameterServers({.context = alone.context}); });
  CHECK(outcome.code == DTRAIN_ERROR_INPUT);
  CHECK(contains(outcome.text, "dtrain_ps_options.context must be that of dtrain_init"));
}

TEST_CASE("wrong arguments are named") {
  PsJob job({.workers = 1});
  const WorkerIdentity identity(job, 0);
  dtrain::ParameterServers ps({.identity = identity.get()});
  const std::array<float, 3> three = {};
  struct Case {
    std::function<void()> call;
    const char* message;
  };
  dtrain_ps_variable old = {};
  old.struct_size = 1;
  const std::vector<Case> cases = {
      {[&] { ps.declare({{.name = "v", .type = DTRAIN_INT32}}); },
       "variable v: its type must be float32 or float64"},
      {[&] { ps.declare({{.name = "v", .optimizer = static_cast<dtrain::PsOptimizer>(6)}}); },
       "dtrain_ps_variable.optimizer is 6; expected 0 to 5"},
      {[&] { ps.declare({{.name = "v", .momentum = 2}}); },
       "variable v: sgd: momentum must be a number from 0, below 1, not 2"},
      {[&] { ps.push({dtrain::PsArray::push<float>("w", three)}); }, "variable w is not declared"},
      {[&] { ps.push({{.name = "w"}}, {.learning_rate = -1}); },
       "dtrain_ps_push_options: learning_rate -1 and clip_norm 0 must be numbers from 0"},
      {[&] { ps.set_mode(static_cast<dtrain::PsMode>(3)); }, "the mode is 3; expected 0 to 2"},
      {[&] { ps.set_mode(dtrain::PsMode::sync, 2); }, "2 workers in each step: the job has 1"},
      {[&] { dtrain::ParameterServers({.identity = identity.get(), .shards = -1}); },
       "dtrain_ps_options.shards is -1; expected 0 to 1048576"},
  };
  for (const Case& which : cases) {
    const RankOutcome outcome = World::outcome_of(which.call);
    CHECK(outcome.code == DTRAIN_ERROR_INPUT);
    CHECK(outcome.text == which.message);
  }
  dtrain_error error = new_error();
  CHECK(dtrain_ps_declare(ps.get(), &old, 1, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "struct_size"));
  CHECK(dtrain_ps_declare(nullptr, nullptr, 0, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "NULL"));
  ps.declare({{.name = "w", .shape = {2}}});
  const RankOutcome size =
      World::outcome_of([&] { ps.push({dtrain::PsArray::push<float>("w", three)}); });
  CHECK(size.text == "variable w: 12 bytes of gradient, expected 8");
}

TEST_CASE("a process without a job is told how to get one") {
  dtrain_error error = new_error();
  CHECK(dtrain_ps_connect(nullptr, &error) == nullptr);
  CHECK(std::string(error.text) ==
        "dtrain_ps_connect: this process belongs to no job; start it by dtrain run --role ps=1 "
        "--role worker=2 --strategy parameter_server ./train");
  CHECK(dtrain_ps_serve(nullptr, &error) == DTRAIN_ERROR_INPUT);
  dtrain_ps_serve_options options = {};
  options.struct_size = sizeof options;
  options.checkpoint_every = 5;
  CHECK(dtrain_ps_serve(&options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "checkpoint_every is set, but checkpoint"));
  dtrain_ps_close(nullptr);
}

}  // namespace
}  // namespace dt

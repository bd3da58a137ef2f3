#include "comm/include/dtrain/dtrain_coordinator.hpp"
#include "comm/include/dtrain/dtrain_ps.hpp"
#include "tests/unit/comm/api/world_fixture.h"
#include "tests/unit/comm/training/coordinator/coordinator_job.h"
#include "tests/unit/comm/training/ps/worker_identity.h"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace dt {
namespace {

/// Runs workers on threads while `body` is the chief.
std::vector<RankOutcome> run_job(int workers,
                                 const std::map<std::string, dtrain::ClosureFunction>& closures,
                                 const std::function<void(dtrain::Coordinator&)>& body) {
  RendezvousFixture rendezvous(table_with_chief(workers));
  std::vector<RankOutcome> outcomes(static_cast<size_t>(workers) + 1);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      outcomes[static_cast<size_t>(worker) + 1] = World::outcome_of([&] {
        const TaskIdentity identity(rendezvous, {"worker", worker});
        dtrain::serve_closures(closures, {.identity = identity.get()});
      });
    });
  }
  outcomes[0] = World::outcome_of([&] {
    const TaskIdentity identity(rendezvous, {"chief", 0});
    dtrain::Coordinator coordinator({.identity = identity.get()});
    body(coordinator);
  });
  // A worker may have begun after the coordinator ended.
  rendezvous.notify({Notice::Kind::left, {"chief", 0}, ""});
  for (std::thread& thread : threads)
    thread.join();
  return outcomes;
}

TEST_CASE("a program schedules, joins and fetches closures through the public API") {
  const auto square = [](std::string_view argument) {
    const int number = std::stoi(std::string(argument));
    return std::to_string(number * number);
  };
  const auto throws = [](std::string_view) -> std::string {
    throw std::runtime_error("no such file");
  };
  const auto throws_error = [](std::string_view) -> std::string {
    throw dtrain::Error(DTRAIN_ERROR_MISMATCH, "it differs");
  };
  const auto throws_other = [](std::string_view) -> std::string { throw 3; };
  const auto outcomes = run_job(
      2,
      {{"square", square},
       {"throws", throws},
       {"throws error", throws_error},
       {"throws other", throws_other}},
      [](dtrain::Coordinator& coordinator) {
        std::vector<dtrain::ScheduledClosure> squares;
        for (int i = 0; i < 10; ++i)
          squares.push_back(coordinator.schedule("square", std::to_string(i)));
        coordinator.join();
        CHECK(coordinator.done());
        for (int i = 0; i < 10; ++i)
          CHECK(coordinator.fetch(squares[static_cast<size_t>(i)]) == std::to_string(i * i));

        struct Case {
          const char* name;
          int code;
          const char* text;
        };
        for (const Case& which :
             {Case{"throws", DTRAIN_ERROR_SYSTEM, "no such file"},
              Case{"throws error", DTRAIN_ERROR_MISMATCH, "it differs"},
              Case{"throws other", DTRAIN_ERROR_SYSTEM, "an exception that is no std::exception"},
              Case{"square", DTRAIN_ERROR_SYSTEM, "stoi"},
              Case{"cube", DTRAIN_ERROR_INPUT,
                   "this worker has no closure of that name; it has "
                   "square, throws, throws error, throws other"}}) {
          const dtrain::ScheduledClosure failing = coordinator.schedule(which.name);
          const RankOutcome fetched =
              World::outcome_of([&] { coordinator.fetch(failing, std::chrono::seconds(30)); });
          CHECK(fetched.code == which.code);
          CHECK(contains(fetched.text, std::string("closure \"") + which.name + "\", on worker:"));
          CHECK(contains(fetched.text, which.text));
          CHECK(World::outcome_of([&] { coordinator.join(); }).text == fetched.text);
        }
        coordinator.schedule_without_result("square", "3");
        coordinator.join();
        CHECK(World::outcome_of([&] { coordinator.fetch({100}); }).code == DTRAIN_ERROR_INPUT);
      });
  for (const RankOutcome& outcome : outcomes)
    CHECK_MESSAGE(outcome.code == DTRAIN_OK, outcome.text);
}

TEST_CASE("a coordinator and parameter servers share one place in the job") {
  PsJob job({.workers = 1, .servers = 1});
  const WorkerIdentity identity(job, 0);
  dtrain::ParameterServers ps({.identity = identity.get()});
  // The servers stand for workers that never serve.
  dtrain::Coordinator coordinator({.ps = ps.get(), .role = "ps"});
  const dtrain::ScheduledClosure closure = coordinator.schedule("step");
  ps.declare({{.name = "w", .shape = {1}, .learning_rate = 1}});
  const std::array<float, 1> gradient = {-1};
  ps.push({dtrain::PsArray::push<float>("w", gradient)});
  CHECK_FALSE(coordinator.done());
  const RankOutcome late =
      World::outcome_of([&] { coordinator.join(std::chrono::milliseconds(0)); });
  CHECK(late.code == DTRAIN_ERROR_TIMEOUT);
  // The news of a death reaches both.
  job.rendezvous().notify({Notice::Kind::dead, {"ps", 0}, "killed by SIGKILL"});
  const RankOutcome lost = World::outcome_of([&] { coordinator.fetch(closure); });
  CHECK(lost.code == DTRAIN_ERROR_PEER_LOST);
  CHECK(contains(lost.text,
                 "closure \"step\": the coordinator needs 1 workers, and 0 are left: "
                 "ps:0 on store0 died: killed by SIGKILL"));
  CHECK(World::outcome_of([&] { ps.statistics(); }).text ==
        "the parameter server ps:0 on store0 died: killed by SIGKILL");
  CHECK(World::outcome_of([&] {
          dtrain::Coordinator({.identity = identity.get(), .ps = ps.get()});
        }).code == DTRAIN_ERROR_INPUT);
}

int succeed(dtrain_bytes argument, dtrain_closure_result* result, void* data, dtrain_error* error) {
  static_cast<void>(data);
  return dtrain_closure_return(result, argument, error);
}

TEST_CASE("wrong arguments of closures are named") {
  RendezvousFixture rendezvous(table_with_chief(1));
  const TaskIdentity identity(rendezvous, {"worker", 0});
  dtrain_coordinator_serve_options options = {};
  options.struct_size = sizeof options;
  options.identity = identity.get();
  dtrain_error error = new_error();
  const auto serve = [&](const std::vector<dtrain_closure>& closures) {
    CHECK(dtrain_coordinator_serve({closures.data(), closures.size()}, &options, &error) ==
          DTRAIN_ERROR_INPUT);
    return std::string(error.text);
  };
  CHECK(serve({{"a", succeed, nullptr}, {"a", succeed, nullptr}}) ==
        "closure \"a\" is registered twice");
  CHECK(serve({{"a", nullptr, nullptr}}) == "closure \"a\": its function is NULL");
  CHECK(serve({{nullptr, succeed, nullptr}}) == "the name of a closure is NULL");
  CHECK(contains(serve({{"", succeed, nullptr}}), "1 to 250 bytes, not 0"));
  options.role = "master";
  CHECK(contains(serve({}), "the job has no task of role master"));
  options.timeout_ms = -1;
  CHECK(contains(serve({}), "timeout_ms is -1"));

  const TaskIdentity chief(rendezvous, {"chief", 0});
  CHECK(contains(World::outcome_of([&] {
                   dtrain::Coordinator({.identity = chief.get(), .workers_min = -1});
                 }).text,
                 "dtrain_coordinator_options.workers_min is -1; expected 0 to"));
  dtrain::Coordinator coordinator({.identity = chief.get(), .closures_max = 1});
  CHECK(dtrain_coordinator_schedule(coordinator.get(), nullptr, {}, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(dtrain_coordinator_schedule(coordinator.get(), "a", {nullptr, 3}, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(dtrain_coordinator_done(coordinator.get(), nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_coordinator_fetch(coordinator.get(), 1, nullptr, -1, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_coordinator_join(nullptr, -1, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_closure_return(nullptr, {}, &error) == DTRAIN_ERROR_INPUT);
  coordinator.schedule_without_result("a");
  CHECK(World::outcome_of([&] { coordinator.schedule("b"); }).code == DTRAIN_ERROR_REFUSED);
  dtrain_coordinator_close(nullptr);
}

TEST_CASE("a process without a job has neither a coordinator nor a worker") {
  CHECK(contains(World::outcome_of([&] { dtrain::Coordinator(); }).text,
                 "dtrain_coordinator_start: this process belongs to no job; start it by dtrain run "
                 "--role chief=1 --role worker=2 ./train"));
  CHECK(contains(World::outcome_of([&] { dtrain::serve_closures({}); }).text,
                 "dtrain_coordinator_serve: this process belongs to no job"));
}

}  // namespace
}  // namespace dt

#include "comm/training/ps/state/step_coordinator.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

/// Three workers that train, and a task without rank with number 3.
std::vector<PsWorker> three_workers() {
  std::vector<PsWorker> workers;
  for (int i = 0; i < 3; ++i)
    workers.push_back({.id = {"worker", i}, .host = "a", .takes_part = true});
  workers.push_back({.id = {"evaluator", 0}, .host = "a"});
  return workers;
}

/// Returns "0 done, 1 stale": the worker and the verdict of each answer.
std::string answers_of(StepCoordinator& coordinator) {
  static const std::vector<std::string> verdicts = {"done", "held", "stale", "changed"};
  std::string text;
  for (const StepCoordinator::Answer& answer : coordinator.take_answers()) {
    if (!text.empty()) text += ", ";
    text += std::to_string(answer.caller.worker) + " ";
    text += answer.error ? "error" : verdicts[static_cast<size_t>(answer.verdict)];
  }
  return text;
}

void commit(StepCoordinator& coordinator, uint32_t worker, uint64_t round) {
  coordinator.commit({worker, 1}, {.mode = coordinator.mode(), .round = round});
}

TEST_CASE("a round has the first workers that commit, and is one for all variables") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  commit(coordinator, 2, 0);
  CHECK(answers_of(coordinator).empty());
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator) == "0 done, 2 done");
  CHECK(coordinator.decision() == PsDecision{.round = 1, .workers = {0, 2}});
  CHECK(coordinator.step() == 1);
  commit(coordinator, 1, 0);
  CHECK(answers_of(coordinator) == "1 stale");
  PsStatus status;
  coordinator.count_into(status);
  CHECK(status.pushes == std::vector<uint64_t>{1, 0, 1, 0});
  CHECK(status.stale == std::vector<uint64_t>{0, 1, 0, 0});
}

TEST_CASE("a count of 0 means all workers that train, and more do not exist") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 0));
  CHECK(coordinator.mode().count == 3);
  const Result<> four = coordinator.set_mode(PsMode::Kind::sync, 4);
  REQUIRE_FALSE(four);
  CHECK(four.error().message == "4 workers in each step: the job has 3");
}

TEST_CASE("a step that lacks workers ends with an error that names a dead one") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 3));
  commit(coordinator, 0, 0);
  commit(coordinator, 1, 0);
  coordinator.gone(2, "died: killed by SIGKILL");
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 2);
  REQUIRE(answers[0].error);
  CHECK(answers[0].error->code == Errc::peer_lost);
  CHECK(answers[0].error->message ==
        "a step needs the gradients of 3 workers, and 2 are left: worker:2 on a died: killed by "
        "SIGKILL");
  // Later commits end at once.
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator) == "0 error");
}

TEST_CASE("a round does not wait for workers that have left well") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  coordinator.left(1, "has left");
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator).empty());
  coordinator.left(2, "has closed its connection");
  CHECK(answers_of(coordinator) == "0 done");
  CHECK(coordinator.decision() == PsDecision{.round = 1, .workers = {0}});
  commit(coordinator, 0, 1);
  CHECK(answers_of(coordinator) == "0 done");
  coordinator.left(0, "has left");
  CHECK(coordinator.step() == 2);
}

TEST_CASE("with workers to spare, a round does not wait for those in a barrier") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  coordinator.barrier({1, 1});
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator).empty());
  coordinator.barrier({2, 1});
  CHECK(answers_of(coordinator) == "0 done");
  coordinator.barrier({0, 2});
  CHECK(answers_of(coordinator) == "0 done, 1 done, 2 done");
}

TEST_CASE("a round misses a worker that fails after it has closed its connection") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  coordinator.left(1, "has closed its connection");
  coordinator.left(2, "has closed its connection");
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator) == "0 done");
  coordinator.gone(1, "died: exit status 1");
  commit(coordinator, 0, 1);
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].error);
  CHECK(
      answers[0].error->message ==
      "a step needs the gradients of 2 workers, and 1 are left: worker:1 on a died: exit status 1");
}

TEST_CASE("a step of all workers ends by name when one has left") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 0));
  commit(coordinator, 0, 0);
  coordinator.left(1, "has closed its connection");
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].error);
  CHECK(answers[0].error->message ==
        "a step needs the gradients of 3 workers, and 2 are left: worker:1 on a has closed its "
        "connection");
}

TEST_CASE("with a worker to spare, training continues after a death") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  commit(coordinator, 0, 0);
  coordinator.gone(2, "died");
  CHECK(answers_of(coordinator).empty());
  commit(coordinator, 1, 0);
  CHECK(answers_of(coordinator) == "0 done, 1 done");
}

TEST_CASE("a worker that dies after its commit counts, since all servers have its push") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 3));
  commit(coordinator, 2, 0);
  coordinator.gone(2, "died");
  commit(coordinator, 0, 0);
  commit(coordinator, 1, 0);
  CHECK(answers_of(coordinator) == "0 done, 1 done");
  CHECK(coordinator.decision().workers == std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("a change of the mode ends the waits: synchronous pushes have had no effect") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  commit(coordinator, 0, 0);
  const PsMode before = coordinator.mode();
  REQUIRE(coordinator.set_mode(PsMode::Kind::async, 0));
  CHECK(answers_of(coordinator) == "0 changed");
  coordinator.commit({1, 1}, {.mode = before, .round = 0});
  CHECK(answers_of(coordinator) == "1 changed");
  CHECK(coordinator.decision().round == 0);
}

TEST_CASE("bounded staleness: a worker waits while another is too many pushes behind") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::bounded, 1));
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator) == "0 done");
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator).empty());
  commit(coordinator, 1, 0);
  CHECK(answers_of(coordinator) == "1 done");
  SUBCASE("until that one pushes") {
    commit(coordinator, 2, 0);
    CHECK(answers_of(coordinator) == "0 done, 2 done");
  }
  SUBCASE("until that one dies") {
    coordinator.gone(2, "died");
    CHECK(answers_of(coordinator) == "0 done");
  }
  SUBCASE("until the mode changes: the push has had its effect") {
    REQUIRE(coordinator.set_mode(PsMode::Kind::async, 0));
    CHECK(answers_of(coordinator) == "0 done");
  }
}

TEST_CASE("a barrier waits for all workers that live") {
  StepCoordinator coordinator(three_workers());
  coordinator.barrier({0, 1});
  coordinator.barrier({1, 1});
  CHECK(answers_of(coordinator).empty());
  SUBCASE("all") {
    coordinator.barrier({2, 1});
    CHECK(answers_of(coordinator) == "0 done, 1 done, 2 done");
  }
  SUBCASE("one died") {
    coordinator.gone(2, "died");
    CHECK(answers_of(coordinator) == "0 done, 1 done");
  }
  SUBCASE("a task without rank has no part in it") {
    coordinator.barrier({3, 1});
    CHECK(answers_of(coordinator) == "3 error");
  }
}

TEST_CASE("the staleness of asynchronous pushes is counted in powers of two") {
  StepCoordinator coordinator(three_workers());
  for (int i = 0; i < 6; ++i)
    coordinator.applied_push(0, 0);
  PsStatus status;
  coordinator.count_into(status);
  CHECK(status.staleness[0] == 1);
  CHECK(status.staleness[1] == 1);
  CHECK(status.staleness[2] == 2);
  CHECK(status.staleness[3] == 2);
  CHECK(coordinator.step() == 6);
}

TEST_CASE("a synchronous step of all workers does not wait for one that returns") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 3));
  commit(coordinator, 0, 0);
  coordinator.gone(2, "died", true);
  CHECK(answers_of(coordinator) == "0 error");
  coordinator.restarted(2);
  coordinator.connected(2);
  for (const uint32_t worker : {0, 1, 2})
    commit(coordinator, worker, 0);
  CHECK(answers_of(coordinator) == "0 done, 1 done, 2 done");
}

TEST_CASE("a step of all workers and a barrier end by name: each would wait for the other") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 3));
  SUBCASE("the barrier comes first") {
    coordinator.barrier({1, 1});
    commit(coordinator, 2, 0);
  }
  SUBCASE("the commit comes first") {
    commit(coordinator, 2, 0);
    CHECK(answers_of(coordinator).empty());
    coordinator.barrier({1, 1});
  }
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(
      answers[0].error->message ==
      "a step needs the gradients of 3 workers, and 2 are left: worker:1 on a waits in a barrier");
}

TEST_CASE("a commit of the attempt before does not count for a worker that begins anew") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::sync, 2));
  commit(coordinator, 2, 0);
  coordinator.gone(2, "died", true);
  coordinator.restarted(2);
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator).empty());
  coordinator.connected(2);
  commit(coordinator, 2, 0);
  CHECK(answers_of(coordinator) == "0 done, 2 done");
  CHECK(coordinator.decision().workers == std::vector<uint32_t>{0, 2});
}

TEST_CASE("bounded staleness: nobody waits for the steps that a restarted worker repeats") {
  StepCoordinator coordinator(three_workers());
  REQUIRE(coordinator.set_mode(PsMode::Kind::bounded, 1));
  coordinator.gone(2, "died", true);
  for (int i = 0; i < 5; ++i) {
    commit(coordinator, 0, 0);
    commit(coordinator, 1, 0);
  }
  coordinator.restarted(2);
  coordinator.connected(2);
  coordinator.take_answers();
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator) == "0 done");
  commit(coordinator, 0, 0);
  CHECK(answers_of(coordinator).empty());
}

TEST_CASE("a barrier waits for a worker that returns") {
  StepCoordinator coordinator(three_workers());
  coordinator.barrier({0, 1});
  coordinator.barrier({1, 1});
  coordinator.gone(2, "died", true);
  coordinator.restarted(2);
  CHECK(answers_of(coordinator).empty());
  coordinator.connected(2);
  coordinator.barrier({2, 1});
  CHECK(answers_of(coordinator) == "0 done, 1 done, 2 done");
}

}  // namespace
}  // namespace dt

#include "comm/training/strategy/job_entry.h"

#include "tests/unit/comm/training/strategy/worker_identity.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

constexpr const char* served = "parameter_server";
constexpr const char* several = "multi_worker_mirrored";

/// Returns the outcomes of workers that make these strategies, each on a thread.
std::vector<RankOutcome> outcomes_of(const std::vector<TestedStrategy>& by_rank) {
  PsJob job({.workers = static_cast<int>(by_rank.size())});
  std::vector<RankOutcome> outcomes(by_rank.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] =
          World::outcome_of([&] { join_strategy(job, static_cast<int>(rank), by_rank[rank]); });
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  return outcomes;
}

TEST_CASE("strategies that differ are named at every rank, before any of them waits for others") {
  struct Case {
    TestedStrategy first;
    TestedStrategy second;
    int rank;
    const char* text;
  };
  for (const Case& test :
       {Case{{.name = served},
             {.name = "mirrored"},
             1,
             "rank 1 has the strategy mirrored, but rank 0 parameter_server; --strategy gives all "
             "the same"},
        Case{{.name = "mirrored"}, {.name = served}, 1, "rank 1 has the strategy parameter_server"},
        Case{{.name = several}, {.name = served}, 1, "rank 1 has the strategy parameter_server"},
        Case{{.name = served},
             {.name = served, .devices = 3},
             1,
             "rank 1 has 3 devices, but rank 0 2; each worker needs equally many"},
        Case{{.name = several}, {.name = several, .devices = 1}, 1, "rank 1 has 1 device, but"},
        Case{{.name = served},
             {.name = served, .request = {.ps_mode = "async"}},
             1,
             "rank 1 has the mode async of parameter servers, but rank 0 sync"},
        Case{{.name = served, .request = {.devices = "9"}},
             {.name = served},
             0,
             "no device \"9\"; this process has cpu:0, cpu:1"},
        Case{{.name = "mirrored"}, {.name = "mirrored"}, -1, "the job has 2 workers; use"}}) {
    CAPTURE(test.text);
    const Time begin = Clock::now();
    for (const RankOutcome& outcome : outcomes_of({test.first, test.second})) {
      CHECK(outcome.code != DTRAIN_OK);
      CHECK(outcome.rank == test.rank);
      CHECK_MESSAGE(contains(outcome.text, test.text), outcome.text);
    }
    CHECK(Clock::now() - begin < seconds(20));
  }
}

TEST_CASE("strategies that agree are made, with servers and without") {
  for (const char* const name : {served, several})
    check_all_well(outcomes_of({{.name = name}, {.name = name}, {.name = name}}));
}

TEST_CASE("an asynchronous worker waits for rank 0 alone, and learns how it differs") {
  PsJob job({.workers = 3});
  const TestedStrategy asynchronous = {.name = served, .request = {.asynchronous = true}};
  const dtrain::Strategy first = join_strategy(job, 0, asynchronous);
  TestedStrategy larger = asynchronous;
  larger.devices = 4;
  const std::string text = error_text([&] { join_strategy(job, 2, larger); });
  CHECK(text == "rank 2 has 4 devices, but rank 0 2; each worker needs equally many");
  CHECK(first.replicas() == 6);
}

TEST_CASE("the n-th strategy of one worker belongs to the n-th of another") {
  PsJob job({.workers = 2});
  std::vector<RankOutcome> outcomes(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<size_t>(rank)] = World::outcome_of([&] {
        for (const int devices : {1, 3, 2})
          join_strategy(job, rank, {.name = several, .devices = devices});
      });
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  check_all_well(outcomes);
}

TEST_CASE("a worker that is gone is not awaited by those of parameter servers") {
  PsJob job({.workers = 2});
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL"});
  CHECK(join_strategy(job, 0, {.name = served}).workers() == 2);
}

TEST_CASE("a worker that is gone ends the join of those that need it, by its name") {
  PsJob job({.workers = 2});
  job.rendezvous().notify({Notice::Kind::dead, {"worker", 1}, "killed by SIGKILL"});
  const std::string text = error_text([&] { join_strategy(job, 0, {.name = several}); });
  CHECK_MESSAGE(contains(text, "killed by SIGKILL"), text);
}

TEST_CASE("a worker that makes no strategy is named at the time limit") {
  PsJob job({.workers = 2});
  const std::string text = error_text([&] { join_strategy(job, 1, {.name = served}, 2'000); });
  CHECK(text == "rank 0 has not created its strategy in time; all ranks create the same one");
}

TEST_CASE("parameter servers need a job, a rank, and no context") {
  const auto alone = Strategy::join({.name = served}, {});
  REQUIRE_FALSE(alone);
  CHECK(contains(alone.error().message, "parameter_server needs the ranks of a job"));
  CHECK(error_text([] { OneProcess one({.name = served}); }) ==
        "parameter_server joins the job by itself; create the strategy without a context");
}

}  // namespace
}  // namespace dt

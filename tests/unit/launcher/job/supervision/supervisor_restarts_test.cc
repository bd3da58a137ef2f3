// --restart-role: a failed task waits, and starts again.
#include "launcher/report/outcome.h"
#include "tests/unit/launcher/job/supervision/supervisor_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Workers that may be restarted, and a ps that may not.
struct RestartFixture : SupervisorFixture {
  Supervisor start_with(int restarts) {
    Plan plan = plan_of(1);
    plan.roles = {{.name = "worker", .count = 2, .restarts = restarts},
                  {.name = "ps", .count = 1, .ranked = false}};
    plan.add({.id = {"ps", 0}, .rank = -1, .agent = 0});
    Supervisor supervisor(plan, options, now);
    for (size_t task = 0; task < 3; ++task)
      CHECK(supervisor.started(task, 100 + static_cast<int64_t>(task), now).empty());
    return supervisor;
  }
  static Action news(Notice::Kind kind, std::string cause, uint32_t attempt, bool returns) {
    return {.kind = Action::Kind::notify,
            .notice = {kind, {"worker", 1}, std::move(cause), attempt, returns}};
  }
  static Action restarted(uint32_t attempt) {
    return news(Notice::Kind::restarted, "", attempt, false);
  }
  static Action warning(std::string text) {
    return {.kind = Action::Kind::warn, .notice = {}, .text = std::move(text)};
  }
  static Action start_of(uint32_t attempt) {
    return {.kind = Action::Kind::start, .notice = {}, .task = 1, .attempt = attempt};
  }
};

constexpr ExitStatus killed = {.signal = SIGKILL};

TEST_CASE_FIXTURE(RestartFixture, "a task that fails is restarted at once, and the job continues") {
  Supervisor job = start_with(2);
  CHECK(job.exited(1, killed, now) ==
        Actions{news(Notice::Kind::dead, "killed by SIGKILL", 1, true),
                warning("rank 1 (host node0, pid 101) failed: killed by SIGKILL; restart 1 of 2")});
  CHECK(job.lives().waits(1));
  CHECK_FALSE(job.lives().ended(1));
  CHECK(job.lives().running() == std::vector<size_t>{0, 2});
  CHECK(job.next_deadline() == now);
  CHECK(job.tick(now) == Actions{restarted(2), start_of(2)});
  CHECK(job.lives().starting(1));
  CHECK(job.lives().attempt(1) == 2);
  CHECK(job.next_deadline() == Time::max());
  CHECK(job.started(1, 200, now).empty());
  CHECK(job.exited(0, {}, now) == Actions{left(0)});
  const Actions last = job.exited(1, {}, now);
  CHECK(last.front() == news(Notice::Kind::left, "", 2, false));
  CHECK(job.done());
  CHECK(job.outcome() == Outcome{});
  CHECK(job.lives().completed(1));
}

TEST_CASE_FIXTURE(RestartFixture, "later restarts wait longer, and the last failure is the job's") {
  Supervisor job = start_with(3);
  std::vector<Duration> waits;
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const Actions actions = job.exited(1, {.code = 3}, now);
    CHECK(actions.back().text.find("; restart " + std::to_string(attempt) + " of 3") !=
          std::string::npos);
    waits.push_back(job.next_deadline() - now);
    if (waits.back() > Duration::zero())
      CHECK(job.tick(job.next_deadline() - milliseconds(1)).empty());
    now = job.next_deadline();
    CHECK(job.tick(now) == Actions{restarted(attempt + 1), start_of(attempt + 1)});
    job.started(1, 200 + attempt, now);
  }
  CHECK(waits == std::vector<Duration>{Duration::zero(), seconds(1), seconds(2)});
  CHECK(job.exited(1, {.code = 7}, now) ==
        Actions{news(Notice::Kind::dead, "exit status 7", 4, false), signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 7);
  CHECK(job.outcome().failed_tasks == 1);
  CHECK(job.outcome().failure->pid == 203);
}

TEST_CASE_FIXTURE(RestartFixture, "a task of another role ends the job as ever") {
  Supervisor job = start_with(2);
  CHECK(job.exited(2, killed, now).back() == signal_all(SIGTERM));
  // A job that ends restarts nothing.
  CHECK(job.exited(1, {.signal = SIGTERM}, now) ==
        Actions{news(Notice::Kind::dead, "killed by SIGTERM", 1, false)});
  CHECK(job.outcome().failure->task == TaskId{"ps", 0});
}

TEST_CASE_FIXTURE(RestartFixture, "an end of the job cancels a restart that waits") {
  Supervisor job = start_with(2);
  job.exited(1, killed, now);
  const Action gone = news(Notice::Kind::dead, "killed by SIGKILL", 1, false);
  SUBCASE("by Ctrl-C") {
    CHECK(job.interrupted(SIGINT, now) == Actions{signal_all(SIGINT), gone});
    CHECK(job.outcome().exit_status == 130);
  }
  SUBCASE("by a scheduler's stop") {
    CHECK(job.agent_signalled(SIGTERM, now) == Actions{signal_all(SIGTERM), gone});
    CHECK(job.outcome().exit_status == 143);
  }
  SUBCASE("by Ctrl-C, when the other tasks write their stacks first") {
    options.dump_stacks = true;
    job = start_with(2);
    job.exited(1, killed, now);
    CHECK(job.interrupted(SIGINT, now) == Actions{plain(Action::Kind::dump), gone});
  }
  SUBCASE("by the failure of another task") {
    const Actions actions = job.exited(2, {.code = 4}, now);
    CHECK(std::ranges::count(actions, gone) == 1);
    CHECK(job.outcome().exit_status == 4);
    CHECK(job.outcome().failed_tasks == 2);
  }
  CHECK(job.lives().ended(1));
  CHECK_FALSE(job.lives().completed(1));
  CHECK(std::ranges::count(job.tick(now + seconds(1)), Action::Kind::start, &Action::kind) == 0);
}

TEST_CASE_FIXTURE(RestartFixture, "a job of tasks that all wait ends at once by a signal") {
  Plan plan = plan_of(1);
  plan.roles = {{.name = "worker", .count = 2, .restarts = 5}};
  Supervisor job(plan, options, now);
  for (size_t task = 0; task < 2; ++task) {
    job.started(task, 100, now);
    job.exited(task, killed, now);
  }
  CHECK(job.interrupted(SIGTERM, now).back() == finish);
  CHECK(job.finishing());
  CHECK(job.outcome().exit_status == 143);
}

TEST_CASE_FIXTURE(RestartFixture, "a job that is done needs no restart") {
  options.success = {.by = SuccessBy::worker_0};
  Supervisor job = start_with(2);
  job.exited(1, killed, now);
  job.exited(0, {}, now);
  CHECK(job.done());
  CHECK(job.lives().ended(1));
  CHECK_FALSE(job.lives().completed(1));
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(RestartFixture, "a pause makes a wait for a restart longer") {
  Supervisor job = start_with(2);
  job.exited(1, killed, now);
  job.tick(now);
  job.started(1, 200, now);
  job.exited(1, killed, now);
  CHECK(job.next_deadline() == now + seconds(1));
  job.pause_wanted(now);
  job.paused(0);
  CHECK(job.next_deadline() == Time::max());
  CHECK(job.tick(now + seconds(60)).empty());
  job.resumed(now + seconds(60));
  CHECK(job.next_deadline() == now + seconds(61));
}

TEST_CASE_FIXTURE(RestartFixture, "tasks of a lost host are not restarted, and the reason has it") {
  Supervisor job = start_with(2);
  job.exited(1, killed, now);
  job.agent_lost(0, "no heartbeat for 5s", now);
  CHECK(job.finishing());
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().reason ==
        "agent on node0 lost: no heartbeat for 5s (tasks of a lost host are not restarted)");
  CHECK(job.tick(now + seconds(1)).empty());
}

TEST_CASE_FIXTURE(RestartFixture, "a program that cannot be started again fails the job") {
  Supervisor job = start_with(2);
  job.exited(1, killed, now);
  job.tick(now);
  CHECK(job.start_failed(1, 127, "not found", now) ==
        Actions{news(Notice::Kind::dead, "could not be started: not found", 2, false),
                signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 127);
}

TEST_CASE_FIXTURE(RestartFixture, "a spare worker is excused only when no restart is left") {
  options.success.workers_min = 1;
  Supervisor job = start_with(1);
  job.exited(1, killed, now);
  job.tick(now);
  job.started(1, 200, now);
  const Actions actions = job.exited(1, killed, now);
  CHECK(actions.back() == warning("rank 1 (host node0, pid 200) failed: killed by SIGKILL; the "
                                  "training goes on without it"));
  CHECK(job.outcome() == Outcome{.failed_tasks = 1});
}

TEST_CASE_FIXTURE(RestartFixture, "with --on-failure continue the others go on meanwhile") {
  options.continue_on_failure = true;
  Supervisor job = start_with(1);
  job.exited(0, {.code = 5}, now);
  CHECK(job.lives().waits(0));
  job.exited(2, {.code = 9}, now);
  CHECK(job.tick(now).size() == 2);
  CHECK(job.outcome().exit_status == 9);
}

TEST_CASE_FIXTURE(RestartFixture, "a restart is no further start of the job") {
  Plan plan = plan_of(1);
  plan.roles = {{.name = "worker", .count = 2, .restarts = 5}};
  Supervisor job(plan, options, now);
  job.started(0, 100, now);
  job.exited(0, killed, now);
  job.tick(now);
  job.started(0, 101, now);
  CHECK_FALSE(job.tick(now + seconds(30)).empty());
  CHECK(job.outcome().reason == "only 1 of 2 tasks had started after 30s; see --start-timeout");
}

/// Workers that decide, and a ps that always starts again.
struct AlwaysFixture : RestartFixture {
  Supervisor start_with(int restarts) {
    Plan plan = plan_of(1);
    plan.roles = {
        {.name = "worker", .count = 2},
        {.name = "ps", .count = 1, .ranked = false, .restarts = restarts, .restarts_always = true}};
    plan.add({.id = {"ps", 0}, .rank = -1, .agent = 0});
    Supervisor supervisor(plan, options, now);
    for (size_t task = 0; task < 3; ++task)
      supervisor.started(task, 100 + static_cast<int64_t>(task), now);
    return supervisor;
  }
  static Action news(Notice::Kind kind, std::string cause, uint32_t attempt, bool returns) {
    return {.kind = Action::Kind::notify,
            .notice = {kind, {"ps", 0}, std::move(cause), attempt, returns}};
  }
  static Action note(std::string text) {
    return {.kind = Action::Kind::note, .notice = {}, .text = std::move(text)};
  }
};

TEST_CASE_FIXTURE(AlwaysFixture, "a task that ends well starts again, and the job ends by others") {
  Supervisor job = start_with(restarts_unlimited);
  CHECK(job.exited(2, {}, now) ==
        Actions{news(Notice::Kind::dead, "exit status 0", 1, true),
                note("ps:0 (host node0, pid 102) ended with status 0; restart 1")});
  CHECK(job.next_deadline() == now);
  CHECK(job.tick(now).back() ==
        Action{.kind = Action::Kind::start, .notice = {}, .task = 2, .attempt = 2});
  CHECK_FALSE(job.lives().completed(2));
  job.started(2, 200, now);
  CHECK(job.exited(2, killed, now).back().text ==
        "ps:0 (host node0, pid 200) failed: killed by SIGKILL; restart 2 in 1s");
  job.tick(now + seconds(1));
  job.started(2, 201, now);
  job.exited(0, {}, now);
  CHECK(job.exited(1, {}, now).back() == signal_all(SIGTERM));
  CHECK(job.done());
  CHECK(job.exited(2, {}, now) == Actions{news(Notice::Kind::left, "", 3, false), finish});
  CHECK(job.lives().completed(2));
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(AlwaysFixture, "a task that always ends at once waits up to 30 s") {
  Supervisor job = start_with(restarts_unlimited);
  Duration waited = {};
  for (int attempt = 0; attempt < 2000; ++attempt) {
    job.exited(2, {}, now);
    waited += job.next_deadline() - now;
    now = job.next_deadline();
    CHECK(job.tick(now).size() == 2);
    job.started(2, 200, now);
  }
  CHECK(waited == seconds(0 + 1 + 2 + 4 + 8 + 16) + 1994 * seconds(30));
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(AlwaysFixture, "a task has completed when it ends well and no restart is left") {
  Supervisor job = start_with(1);
  CHECK(job.exited(2, {}, now).back().text ==
        "ps:0 (host node0, pid 102) ended with status 0; restart 1 of 1");
  job.tick(now);
  job.started(2, 200, now);
  CHECK(job.exited(2, {}, now) == Actions{news(Notice::Kind::left, "", 2, false)});
  CHECK(job.lives().completed(2));
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(AlwaysFixture,
                  "the end of the job cancels the restart of a task that ended well") {
  Supervisor job = start_with(restarts_unlimited);
  job.exited(2, {}, now);
  SUBCASE("the tasks that decide have ended") {
    job.exited(0, {}, now);
    CHECK(job.exited(1, {}, now).back() == finish);
    CHECK(job.outcome() == Outcome{});
    CHECK(job.lives().completed(2));
  }
  SUBCASE("a signal") {
    CHECK(job.interrupted(SIGTERM, now).back() ==
          news(Notice::Kind::dead, "exit status 0", 1, false));
    CHECK(job.outcome().failed_tasks == 0);
    CHECK(job.lives().completed(2));
  }
  SUBCASE("the failure of another task") {
    job.exited(1, {.code = 4}, now);
    CHECK(job.outcome().failed_tasks == 1);
    CHECK(job.lives().completed(2));
  }
  SUBCASE("the loss of its host, on which no task starts again") {
    job.agent_lost(0, "no heartbeat for 5s", now);
    CHECK(job.outcome().failed_tasks == 2);
    CHECK(job.outcome().exit_status == 3);
  }
  CHECK(job.lives().ended(2));
  CHECK(std::ranges::count(job.tick(now + seconds(60)), Action::Kind::start, &Action::kind) == 0);
}

/// A job that may start again after every failure.
struct WorldFixture : SupervisorFixture {
  WorldFixture() {
    options.may_restart = [this](const Outcome& failed) {
      asked.push_back(failed.exit_status);
      return allowed;
    };
  }
  bool allowed = true;
  std::vector<int> asked;
};

TEST_CASE_FIXTURE(WorldFixture, "a failure ends all tasks, and then they may start again") {
  Supervisor supervisor = start();
  supervisor.exited(1, {.code = 3}, now);
  CHECK_FALSE(supervisor.verdict().restarts());
  supervisor.exited(0, {.signal = SIGTERM}, now);
  CHECK(supervisor.finishing());
  CHECK(supervisor.verdict().restarts());
  CHECK(asked == std::vector<int>{3});
  SUBCASE("unless a signal comes before the agents have finished") {
    CHECK(supervisor.interrupted(SIGINT, now) == Actions{plain(Action::Kind::stop_waiting)});
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  SUBCASE("also if a host is lost meanwhile") {
    const Actions actions = supervisor.agent_lost(0, "no heartbeat for 5s", now);
    CHECK(supervisor.verdict().restarts());
    REQUIRE(actions.size() == 1);
    CHECK(actions[0].text == "agent on node0 lost: no heartbeat for 5s");
    CHECK(supervisor.next_deadline() == Time::max());
  }
}

TEST_CASE_FIXTURE(WorldFixture, "a lost host ends all tasks, and then they may start again") {
  Supervisor supervisor = start(2);
  supervisor.agent_lost(1, "no heartbeat for 5s", now);
  CHECK_FALSE(supervisor.verdict().restarts());
  supervisor.exited(0, {.signal = SIGTERM}, now);
  supervisor.exited(1, {.signal = SIGTERM}, now);
  CHECK(supervisor.finishing());
  CHECK(supervisor.verdict().restarts());
  CHECK(asked == std::vector<int>{3});
  CHECK_FALSE(supervisor.outcome().failure);
  CHECK(supervisor.outcome().reason == "agent on node1 lost: no heartbeat for 5s");
  // The agents that stay are waited for.
  CHECK(supervisor.next_deadline() == Time::max());
}

TEST_CASE_FIXTURE(WorldFixture, "a host that is lost after the failure of a peer counts as lost") {
  Supervisor supervisor = start(2);
  supervisor.exited(0, {.code = 1}, now);
  CHECK_FALSE(supervisor.outcome().host_lost);
  const Actions actions = supervisor.agent_lost(1, "no heartbeat for 5s", now);
  CHECK(supervisor.outcome().host_lost);
  CHECK(supervisor.outcome().exit_status == 1);
  CHECK(std::ranges::any_of(actions, [](const Action& action) {
    return action.kind == Action::Kind::warn &&
           action.text == "agent on node1 lost: no heartbeat for 5s";
  }));
}

TEST_CASE_FIXTURE(WorldFixture, "a spare that is lost ends nothing") {
  Plan plan = plan_of(1);
  plan.hosts.push_back({.host = {.name = "s"}});
  Supervisor supervisor(plan, options, now);
  const Actions actions = supervisor.agent_lost(1, "no heartbeat for 5s", now);
  REQUIRE(actions.size() == 1);
  CHECK(actions[0].kind == Action::Kind::warn);
  CHECK(actions[0].text ==
        "agent on s lost: no heartbeat for 5s; the job goes on without this spare");
  CHECK(supervisor.pause_wanted(now) == Actions{plain(Action::Kind::pause)});
  CHECK(supervisor.paused(0) == Actions{plain(Action::Kind::suspend)});
  supervisor.resumed(now);
  supervisor.exited(0, {}, now);
  supervisor.exited(1, {}, now);
  CHECK(supervisor.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(WorldFixture, "a scheduler that ends a job after a failure ends it for good") {
  Supervisor supervisor = start();
  supervisor.exited(1, {.code = 3}, now);
  supervisor.agent_signalled(SIGTERM, now);
  supervisor.interrupted(SIGTERM, now);
  supervisor.exited(0, {.signal = SIGTERM}, now);
  CHECK(supervisor.finishing());
  CHECK_FALSE(supervisor.verdict().restarts());
  CHECK(supervisor.outcome().exit_status == 3);
}

TEST_CASE_FIXTURE(WorldFixture, "only a failure or a lost host starts a job again") {
  SUBCASE("it ends well") {
    Supervisor supervisor = start();
    supervisor.exited(0, {}, now);
    supervisor.exited(1, {}, now);
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  SUBCASE("a signal ends it") {
    Supervisor supervisor = start();
    supervisor.interrupted(SIGTERM, now);
    supervisor.exited(0, {.signal = SIGTERM}, now);
    supervisor.exited(1, {.code = 1}, now);
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  SUBCASE("a port is taken") {
    Supervisor supervisor = start();
    supervisor.port_taken("node0: uid 7", now);
    supervisor.exited(0, {.code = 1}, now);
    supervisor.exited(1, {.code = 1}, now);
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  SUBCASE("a host is lost after a signal") {
    Supervisor supervisor = start(2);
    supervisor.interrupted(SIGTERM, now);
    supervisor.agent_lost(1, "no heartbeat for 5s", now);
    supervisor.exited(0, {.code = 1}, now);
    supervisor.exited(1, {.code = 1}, now);
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  SUBCASE("a failure that does not end it") {
    options.continue_on_failure = true;
    Supervisor supervisor = start();
    supervisor.exited(0, {.code = 3}, now);
    supervisor.exited(1, {}, now);
    CHECK(supervisor.outcome().exit_status == 3);
    CHECK_FALSE(supervisor.verdict().restarts());
  }
  CHECK(asked.empty());
}

TEST_CASE_FIXTURE(WorldFixture, "a job of one task may start again, if it is allowed") {
  options.success.by = SuccessBy::worker_0;
  for (const bool may : {false, true}) {
    allowed = may;
    Supervisor supervisor = start();
    supervisor.start_failed(0, 126, "not executable", now);
    supervisor.exited(1, {.signal = SIGTERM}, now);
    CHECK(supervisor.verdict().restarts() == may);
  }
  CHECK(asked == std::vector<int>{126, 126});
}

}  // namespace
}  // namespace dt

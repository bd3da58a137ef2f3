#include "launcher/job/supervision/supervisor.h"

#include "base/format.h"
#include "launcher/report/outcome.h"
#include "tests/unit/launcher/job/supervision/supervisor_fixture.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a job whose tasks all exit 0 ends with status 0, and each task has left") {
  Supervisor job = start();
  CHECK(job.exited(0, {}, now) == Actions{left(0)});
  CHECK_FALSE(job.finishing());
  CHECK(job.exited(1, {}, now) == Actions{left(1), finish});
  CHECK(job.finishing());
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a port that another user took ends the job, unless something else did") {
  Supervisor job = start();
  CHECK(job.port_taken("node0: uid 7", now) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().reason == "node0: uid 7");
  CHECK(job.port_taken("node0: uid 8", now).empty());
  CHECK(job.outcome().reason == "node0: uid 7");

  Supervisor failed = start();
  failed.exited(1, {.code = 5}, now);
  CHECK(failed.port_taken("node0: uid 7", now).empty());
  CHECK(failed.outcome().exit_status == 5);
  CHECK(failed.outcome().reason == "");

  Supervisor done = start();
  done.exited(0, {}, now);
  done.exited(1, {}, now);
  CHECK(done.port_taken("node0: uid 7", now).empty());
  CHECK(done.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "the engines learn of the first failure before any task gets TERM") {
  Supervisor job = start();
  CHECK(job.exited(1, {.code = 3}, now) == Actions{dead(1, "exit status 3"), signal_all(SIGTERM)});
  CHECK(job.next_deadline() == now + options.grace);
  CHECK(job.exited(0, {.signal = SIGTERM}, now) == Actions{dead(0, "killed by SIGTERM"), finish});
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().failed_tasks == 2);
  REQUIRE(job.outcome().failure);
  CHECK(
      *job.outcome().failure ==
      Failure{
          .task = {"worker", 1}, .rank = 1, .host = "node0", .pid = 101, .cause = "exit status 3"});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a task that got SIGTERM while it ended of the oldest error is the cause") {
  Supervisor job = start(2);
  job.exited(1, {.code = 1}, now, TaskError{"Lost: peer", "a.py:3", 20});
  job.exited(0, {.signal = SIGTERM}, now, TaskError{"E: x", "a.py:3", 10});
  CHECK(job.outcome().failure->task == TaskId{"worker", 0});
  CHECK(
      job.outcome().failure->cause ==
      "killed by SIGTERM (sent by dtrain: other tasks ended first, because of this task's error)");
  CHECK(job.outcome().exit_status == 1);
  // A shell around the task has the signal in its exit status.
  Supervisor of_shells = start(2);
  of_shells.exited(1, {.code = 1}, now, TaskError{"Lost: peer", "a.py:3", 20});
  of_shells.exited(0, {.code = 128 + SIGTERM}, now, TaskError{"E: x", "a.py:3", 10});
  CHECK(of_shells.outcome().failure->cause ==
        "exit status 143 (sent by dtrain: other tasks ended first, because of this task's error)");
}

TEST_CASE_FIXTURE(SupervisorFixture, "a worker killed by a signal gives 128 + n") {
  Supervisor job = start();
  job.exited(0, {.signal = SIGSEGV}, now);
  CHECK(job.outcome().exit_status == 139);
  CHECK(job.outcome().failure->cause == "killed by SIGSEGV");
}

TEST_CASE_FIXTURE(SupervisorFixture, "an OOM kill is called one") {
  Supervisor job = start();
  job.exited(0, {.signal = SIGKILL, .out_of_memory = true}, now);
  CHECK(job.outcome().exit_status == 137);
  CHECK(job.outcome().failure->cause ==
        "killed by SIGKILL (the kernel's OOM killer: out of memory)");
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "after the grace comes KILL, and then even the unkillable end the job") {
  Supervisor job = start();
  job.exited(0, {.code = 1}, now);
  CHECK(job.tick(now + options.grace - milliseconds(1)).empty());
  CHECK(job.tick(now + options.grace) == Actions{signal_all(SIGKILL)});
  const Time give_up = job.next_deadline();
  CHECK(give_up > now + options.grace);
  CHECK(job.lives().running() == std::vector<size_t>{1});
  CHECK(job.tick(give_up) == Actions{finish});
  CHECK(job.finishing());
}

TEST_CASE_FIXTURE(SupervisorFixture, "KILL waits while a task writes a file, and not for ever") {
  bool writes = true;
  options.writes_file = [&writes] { return writes; };
  for (const bool ends : {true, false}) {
    writes = true;
    Supervisor job = start();
    job.exited(0, {.code = 1}, now);
    Time at = job.next_deadline();
    const Actions noted = job.tick(at);
    REQUIRE(noted.size() == 1);
    CHECK(noted[0].text.find("writes a checkpoint; waiting up to 5m for it") != std::string::npos);
    CHECK(job.tick(job.next_deadline()).empty());
    writes = !ends;
    Actions actions;
    while (actions.empty()) {
      at = job.next_deadline();
      actions = job.tick(at);
    }
    CHECK(actions == Actions{signal_all(SIGKILL)});
    CHECK(at == now + options.grace + (ends ? seconds(2) : std::chrono::minutes(5)));
  }
  Supervisor impatient = start();
  impatient.interrupted(SIGINT, now);
  impatient.tick(now + options.grace);
  CHECK(impatient.interrupted(SIGINT, now + options.grace) == Actions{signal_all(SIGKILL)});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "--on-failure continue lets the others run and keeps the first status") {
  options.continue_on_failure = true;
  Supervisor job = start();
  CHECK(job.exited(1, {.code = 7}, now) == Actions{dead(1, "exit status 7")});
  CHECK(job.next_deadline() == Time::max());
  CHECK(job.exited(0, {}, now) == Actions{left(0), finish});
  CHECK(job.outcome().exit_status == 7);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "the first INT goes to all with the grace, the second kills at once") {
  Supervisor job = start();
  CHECK(job.interrupted(SIGINT, now) == Actions{signal_all(SIGINT)});
  CHECK(job.next_deadline() == now + seconds(1));
  // A terminal that closes sends the signal twice: that is one request.
  CHECK(job.interrupted(SIGINT, now + milliseconds(20)).empty());
  CHECK(job.interrupted(SIGINT, now + seconds(1)) == Actions{signal_all(SIGKILL)});
  job.exited(0, {.signal = SIGKILL}, now);
  job.exited(1, {.signal = SIGKILL}, now);
  CHECK(job.outcome().exit_status == 130);
  CHECK(job.outcome().reason == "interrupted by SIGINT");
  CHECK_FALSE(job.outcome().failure);
}

TEST_CASE_FIXTURE(SupervisorFixture, "any stop signal right after the first is the same request") {
  const std::vector<std::pair<int, int>> pairs = {
      {SIGINT, SIGTERM}, {SIGTERM, SIGHUP}, {SIGHUP, SIGTERM}, {SIGINT, SIGQUIT}, {SIGHUP, SIGHUP}};
  for (const auto& [first, second] : pairs) {
    CAPTURE(first);
    CAPTURE(second);
    Supervisor job = start();
    CHECK(job.interrupted(first, now) == Actions{signal_all(first)});
    CHECK(job.interrupted(second, now + milliseconds(299)).empty());
    CHECK(job.outcome().exit_status == 128 + first);
    CHECK(job.interrupted(second, now + milliseconds(300)) == Actions{signal_all(SIGKILL)});
  }
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a stop that takes longer shows once for which tasks it waits") {
  for (const int number : {SIGINT, SIGTERM}) {
    Supervisor job = start();
    job.interrupted(number, now);
    job.exited(1, {.signal = number}, now);
    CHECK(job.tick(now + milliseconds(999)).empty());
    const Actions noted = job.tick(now + seconds(1));
    REQUIRE(noted.size() == 1);
    CHECK(noted[0].kind == Action::Kind::note);
    CHECK(noted[0].text == format("interrupted; waiting up to 10s for rank 0; {} ends them now",
                                  number == SIGINT ? "Ctrl-C again" : "a second signal"));
    CHECK(job.next_deadline() == now + options.grace);
    CHECK(job.tick(now + seconds(2)).empty());
  }
  options.grace = seconds(1);
  Supervisor hasty = start();
  hasty.interrupted(SIGINT, now);
  CHECK(hasty.tick(now + seconds(1)) == Actions{signal_all(SIGKILL)});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a reader of the output that goes away ends the job as SIGPIPE does") {
  Supervisor job = start();
  CHECK(job.reader_gone(now) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 141);
  CHECK(job.reader_gone(now).empty());
  options.continue_on_failure = true;
  Supervisor failed = start();
  failed.exited(1, {.code = 3}, now);
  CHECK(failed.reader_gone(now) == Actions{signal_all(SIGTERM)});
  CHECK(failed.outcome().exit_status == 3);
}

TEST_CASE_FIXTURE(SupervisorFixture, "TERM gives 143 even when all workers then end well") {
  Supervisor job = start();
  job.interrupted(SIGTERM, now);
  job.exited(0, {}, now);
  job.exited(1, {}, now);
  CHECK(job.outcome().exit_status == 143);
}

TEST_CASE_FIXTURE(SupervisorFixture, "a failure before the interrupt keeps its status") {
  Supervisor job = start();
  job.exited(0, {.code = 5}, now);
  CHECK(job.interrupted(SIGINT, now) == Actions{signal_all(SIGKILL)});
  CHECK(job.outcome().exit_status == 5);
}

TEST_CASE_FIXTURE(SupervisorFixture, "the time limit ends the job with 124") {
  options.timeout = seconds(60);
  Supervisor job = start();
  CHECK(job.next_deadline() == now + seconds(60));
  CHECK(job.tick(now + seconds(60)) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 124);
  CHECK(job.outcome().reason == "time limit of 1m reached");
}

TEST_CASE_FIXTURE(SupervisorFixture, "tasks that do not start in time end the job with 4") {
  Supervisor job(plan_of(1), options, now);
  job.started(0, 100, now);
  CHECK(job.next_deadline() == now + seconds(30));
  CHECK(job.tick(now + seconds(30)) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 4);
  CHECK(job.outcome().reason == "only 1 of 2 tasks had started after 30s; see --start-timeout");
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a task that cannot be started is a failure with the shell's status") {
  Supervisor job(plan_of(1), options, now);
  job.started(0, 100, now);
  CHECK(job.start_failed(1, 126, "cannot run x: Permission denied", now) ==
        Actions{dead(1, "could not be started: cannot run x: Permission denied"),
                signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 126);
  CHECK(job.outcome().failure->pid == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a lost agent's tasks are dead, the others stop, and the status is 3") {
  Supervisor job = start(2);
  const std::string cause = "agent on node1 lost: no heartbeat for 5s";
  CHECK(job.agent_lost(1, "no heartbeat for 5s", now) ==
        Actions{dead(2, cause), dead(3, cause), signal_all(SIGTERM)});
  job.exited(0, {.signal = SIGTERM}, now);
  CHECK(job.exited(1, {.signal = SIGTERM}, now).back() == finish);
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().reason == cause);
  CHECK_FALSE(job.outcome().failure);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a host lost after a signal is a warning, and the reason stays the signal") {
  Supervisor job = start(2);
  job.interrupted(SIGINT, now);
  const std::string cause = "agent on node1 lost: its connection ended";
  const Action warned = {.kind = Action::Kind::warn, .notice = {}, .text = cause};
  CHECK(job.agent_lost(1, "its connection ended", now) ==
        Actions{dead(2, cause), dead(3, cause), warned});
  CHECK_FALSE(job.verdict().by_lost_host());
  CHECK(job.outcome().exit_status == 130);
  CHECK(job.outcome().reason == "interrupted by SIGINT");
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a second lost host, and a host lost after a failure, add no reason") {
  Supervisor lost = start(2);
  lost.agent_lost(0, "its connection ended", now);
  CHECK(lost.verdict().by_lost_host());
  const std::string cause = "agent on node1 lost: its connection ended";
  CHECK(lost.agent_lost(1, "its connection ended", now) ==
        Actions{dead(2, cause), dead(3, cause), finish});
  Supervisor failed = start(2);
  failed.exited(0, {.code = 3}, now);
  CHECK(failed.agent_lost(1, "its connection ended", now) ==
        Actions{dead(2, cause), dead(3, cause)});
  CHECK_FALSE(failed.verdict().by_lost_host());
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a host lost after its tasks ended well fails a job that still runs") {
  Supervisor job = start(2);
  job.exited(0, {}, now);
  job.exited(1, {}, now);
  CHECK(job.agent_lost(0, "its connection ended", now) == Actions{signal_all(SIGTERM)});
  CHECK(job.verdict().by_lost_host());
  CHECK(job.outcome().exit_status == 3);
}

TEST_CASE_FIXTURE(SupervisorFixture, "an agent lost after its tasks ended changes nothing") {
  Supervisor job = start(1);
  job.exited(0, {}, now);
  job.exited(1, {}, now);
  CHECK(job.agent_lost(0, "its connection ended", now).empty());
  CHECK(job.outcome().exit_status == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "an agent lost before its tasks' output had come fails a job that went well") {
  Supervisor job = start(1);
  job.exited(0, {}, now);
  job.exited(1, {}, now);
  job.agent_lost(0, "its connection ended", now);
  job.output_lost(0, "its connection ended");
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().reason ==
        "agent on node0 lost: its connection ended; the end of its tasks' output may be missing");
  Supervisor failed = start(1);
  failed.exited(0, {.code = 7}, now);
  failed.exited(1, {}, now);
  failed.output_lost(0, "its connection ended");
  CHECK(failed.outcome().exit_status == 7);
}

TEST_CASE_FIXTURE(SupervisorFixture, "a stopped job waits for its agents only until a limit") {
  Supervisor job = start();
  job.interrupted(SIGTERM, now);
  job.exited(0, {.signal = SIGTERM}, now);
  job.exited(1, {.signal = SIGTERM}, now);
  REQUIRE(job.finishing());
  const Time patience = job.next_deadline();
  REQUIRE(patience < now + seconds(60));
  CHECK(job.tick(patience) == Actions{{.kind = Action::Kind::stop_waiting}});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a job that ended by itself waits for a slow reader, until a signal") {
  Supervisor job = start();
  job.exited(0, {}, now);
  job.exited(1, {}, now);
  CHECK(job.next_deadline() == Time::max());
  CHECK(job.interrupted(SIGINT, now) == Actions{{.kind = Action::Kind::stop_waiting}});
  CHECK(job.outcome().exit_status == 130);
}

TEST_CASE_FIXTURE(SupervisorFixture, "events of a task that has ended have no effect") {
  Supervisor job = start();
  job.exited(0, {}, now);
  CHECK(job.exited(0, {.code = 1}, now).empty());
  CHECK(job.start_failed(0, 127, "not found", now).empty());
  CHECK(job.started(0, 7, now).empty());
  CHECK_FALSE(job.finishing());
  CHECK(job.outcome().exit_status == 0);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "repeated signals do not delay the end of a job with unkillable tasks") {
  Supervisor job = start();
  job.interrupted(SIGINT, now);
  job.interrupted(SIGINT, now + seconds(1));
  const Time end = job.next_deadline();
  job.interrupted(SIGINT, now + seconds(2));
  CHECK(job.next_deadline() == end);
}

TEST_CASE_FIXTURE(SupervisorFixture, "the time limit does not hide an earlier failure") {
  options.continue_on_failure = true;
  options.timeout = seconds(60);
  Supervisor job = start();
  job.exited(1, {.code = 5}, now);
  job.tick(now + seconds(60));
  CHECK(job.outcome().exit_status == 5);
  CHECK(job.outcome().reason == "time limit of 1m reached");
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "Ctrl-Z suspends dtrain when all agents have stopped their tasks") {
  Supervisor job = start(2);
  CHECK(job.pause_wanted(now) == Actions{pause});
  CHECK(job.pause_wanted(now).empty());
  CHECK(job.paused(1).empty());
  CHECK(job.paused(0) == Actions{suspend});
  CHECK(job.resumed(now + seconds(60)) == Actions{resume});
  CHECK(job.resumed(now + seconds(60)).empty());
  // And again.
  CHECK(job.pause_wanted(now + seconds(61)) == Actions{pause});
  CHECK(job.paused(0).empty());
  CHECK(job.paused(1) == Actions{suspend});
}

TEST_CASE_FIXTURE(SupervisorFixture, "a pause stops the time limit and the start deadline") {
  options.timeout = seconds(100);
  Supervisor job(plan_of(1), options, now);
  job.pause_wanted(now + seconds(10));
  CHECK(job.next_deadline() == Time::max());
  CHECK(job.tick(now + seconds(1000)).empty());
  job.paused(0);
  job.resumed(now + seconds(1010));
  CHECK(job.next_deadline() == now + seconds(1030));
  job.started(0, 100, now + seconds(1011));
  job.started(1, 101, now + seconds(1011));
  CHECK(job.next_deadline() == now + seconds(1100));
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a pause stops the grace, and without a deadline there is none after") {
  Supervisor job = start();
  CHECK(job.next_deadline() == Time::max());
  job.pause_wanted(now);
  job.paused(0);
  job.resumed(now + seconds(5));
  CHECK(job.next_deadline() == Time::max());
  job.exited(0, {.code = 1}, now + seconds(5));
  job.pause_wanted(now + seconds(6));
  job.paused(0);
  job.resumed(now + seconds(106));
  CHECK(job.next_deadline() == now + seconds(105) + options.grace);
  CHECK(job.tick(now + seconds(105) + options.grace) == Actions{signal_all(SIGKILL)});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "an event that ends the job cancels a pause that is not complete") {
  Supervisor failing = start();
  failing.pause_wanted(now);
  CHECK(failing.exited(0, {.code = 1}, now) ==
        Actions{dead(0, "exit status 1"), resume, signal_all(SIGTERM)});
  CHECK(failing.paused(0).empty());

  Supervisor stopped = start();
  stopped.pause_wanted(now);
  CHECK(stopped.interrupted(SIGTERM, now) == Actions{resume, signal_all(SIGTERM)});

  Supervisor done = start();
  done.pause_wanted(now);
  done.exited(0, {}, now);
  CHECK(done.exited(1, {}, now) == Actions{left(1), resume, finish});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "an agent that is lost or has finished is not waited for in a pause") {
  options.continue_on_failure = true;
  Supervisor job = start(2);
  for (size_t task = 0; task < 4; ++task)
    job.exited(task, {}, now);
  job.agent_finished(0);
  CHECK(job.pause_wanted(now) == Actions{pause});
  CHECK(job.agent_lost(1, "its connection ended", now) == Actions{suspend});
  CHECK(job.resumed(now) == Actions{resume});
  CHECK(job.pause_wanted(now) == Actions{pause, suspend});
}

}  // namespace
}  // namespace dt

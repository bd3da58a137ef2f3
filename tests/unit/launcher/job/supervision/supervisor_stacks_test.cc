// --dump-stacks: the phase `dumping`.
#include "launcher/job/supervision/supervisor.h"
#include "tests/unit/launcher/job/supervision/supervisor_fixture.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

const Action dump = {.kind = Action::Kind::dump, .notice = {}};

TEST_CASE_FIXTURE(SupervisorFixture,
                  "with --dump-stacks a time limit gives the tasks 2 s for their stacks") {
  options.dump_stacks = true;
  options.timeout = seconds(60);
  Supervisor job = start();
  CHECK(job.tick(now + seconds(60)) == Actions{dump});
  CHECK(job.verdict().timed_out());
  CHECK(job.next_deadline() == now + seconds(62));
  job.agent_lost(0, "gone", now + seconds(61));
  CHECK(job.finishing());
  Supervisor other = start();
  other.tick(now + seconds(60));
  CHECK(other.tick(now + seconds(61)).empty());
  CHECK(other.tick(now + seconds(62)) == Actions{signal_all(SIGTERM)});
  CHECK(other.next_deadline() == now + seconds(62) + options.grace);
  CHECK(other.tick(other.next_deadline()) == Actions{signal_all(SIGKILL)});
  CHECK(other.outcome().exit_status == 124);
}

TEST_CASE_FIXTURE(SupervisorFixture, "tasks that end while they write their stacks end the job") {
  options.dump_stacks = true;
  options.timeout = seconds(60);
  Supervisor job = start();
  job.tick(now + seconds(60));
  CHECK(job.exited(0, {.code = 3}, now + seconds(61)) == Actions{dead(0, "exit status 3")});
  CHECK(job.exited(1, {}, now + seconds(61)) == Actions{left(1), finish});
  CHECK(job.outcome().exit_status == 124);
  CHECK_FALSE(job.outcome().failure);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a signal comes after the stacks; a second one does not wait for them") {
  options.dump_stacks = true;
  Supervisor job = start();
  CHECK(job.interrupted(SIGINT, now) == Actions{dump});
  CHECK(job.tick(now + seconds(2)) == Actions{signal_all(SIGINT)});
  CHECK(job.next_deadline() == now + seconds(3));
  CHECK(job.tick(now + seconds(3)).front().text.starts_with("interrupted; waiting up to 10s for "));
  CHECK(job.interrupted(SIGINT, now + seconds(4)) == Actions{signal_all(SIGKILL)});
  CHECK(job.outcome().exit_status == 130);

  Supervisor again = start();
  again.interrupted(SIGINT, now);
  CHECK(again.interrupted(SIGTERM, now + milliseconds(299)).empty());
  CHECK(again.interrupted(SIGTERM, now + seconds(1)) == Actions{signal_all(SIGTERM)});
  CHECK(again.next_deadline() == now + seconds(2));
  CHECK(again.interrupted(SIGTERM, now + seconds(2)) == Actions{signal_all(SIGKILL)});
  CHECK(again.outcome().exit_status == 130);

  // A handler that writes a stack keeps SIGQUIT from ending its process.
  Supervisor quit = start();
  CHECK(quit.interrupted(SIGQUIT, now) == Actions{dump});
  CHECK(quit.tick(now + seconds(2)) == Actions{signal_all(SIGTERM)});
  CHECK(quit.outcome().exit_status == 131);
}

TEST_CASE_FIXTURE(SupervisorFixture, "a scheduler's stop of agents comes after the stacks, too") {
  options.dump_stacks = true;
  Supervisor job = start();
  CHECK(job.agent_signalled(SIGTERM, now) == Actions{dump});
  CHECK(job.agent_signalled(SIGTERM, now + milliseconds(10)).empty());
  CHECK(job.interrupted(SIGTERM, now + seconds(1)).empty());
  CHECK(job.tick(now + seconds(2)) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 143);
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a pause counts for no stack, and other ends of the job wait for none") {
  options.dump_stacks = true;
  Supervisor job = start();
  job.interrupted(SIGTERM, now);
  CHECK(job.pause_wanted(now + seconds(1)) == Actions{pause});
  CHECK(job.paused(0) == Actions{suspend});
  CHECK(job.resumed(now + seconds(100)) == Actions{resume});
  CHECK(job.next_deadline() == now + seconds(101));

  Supervisor failed = start();
  CHECK(failed.exited(1, {.code = 3}, now) ==
        Actions{dead(1, "exit status 3"), signal_all(SIGTERM)});
  Supervisor lost = start(2);
  CHECK(lost.agent_lost(0, "gone", now).back() == signal_all(SIGTERM));
  Supervisor taken = start();
  CHECK(taken.port_taken("node0: uid 7", now) == Actions{signal_all(SIGTERM)});
}

}  // namespace
}  // namespace dt

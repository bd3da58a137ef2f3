// A scheduler's signals to agents.
#include "launcher/job/supervision/supervisor.h"
#include "tests/unit/launcher/job/supervision/supervisor_fixture.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE_FIXTURE(SupervisorFixture, "a scheduler that stops agents interrupts the job") {
  Supervisor job = start(2);
  CHECK(job.agent_signalled(SIGTERM, now) == Actions{signal_all(SIGTERM)});
  CHECK(job.outcome().exit_status == 143);
  CHECK(job.outcome().reason == "interrupted by SIGTERM");
  // The other agents and dtrain get the same signal a little later.
  CHECK(job.agent_signalled(SIGTERM, now + seconds(2)).empty());
  CHECK(job.interrupted(SIGTERM, now + seconds(4)).empty());
  CHECK(job.exited(0, {.signal = SIGTERM}, now + seconds(4)) ==
        Actions{dead(0, "killed by SIGTERM")});
  CHECK_FALSE(job.outcome().failure);
  CHECK(job.tick(now + seconds(10)).back() == signal_all(SIGKILL));
  CHECK(job.agent_signalled(SIGTERM, now + seconds(11)).empty());

  // Any other request to dtrain is one of its own.
  Supervisor impatient = start();
  impatient.agent_signalled(SIGTERM, now);
  CHECK(impatient.interrupted(SIGINT, now + seconds(1)) == Actions{signal_all(SIGKILL)});
}

TEST_CASE_FIXTURE(SupervisorFixture,
                  "a scheduler's stop offers the second signal from when on it ends the tasks") {
  Supervisor job = start(2);
  job.agent_signalled(SIGTERM, now);
  CHECK(job.tick(now + seconds(1)).empty());
  job.agent_signalled(SIGTERM, now + seconds(2));
  CHECK(job.interrupted(SIGTERM, now + milliseconds(4999)).empty());
  CHECK(job.next_deadline() == now + seconds(5));
  CHECK(job.tick(now + seconds(5)).front().text.ends_with("a second signal ends them now"));
  CHECK(job.interrupted(SIGTERM, now + seconds(5)) == Actions{signal_all(SIGKILL)});

  // A report after the signal to dtrain is of the same request.
  Supervisor first_here = start(2);
  first_here.interrupted(SIGTERM, now);
  CHECK(first_here.agent_signalled(SIGTERM, now + milliseconds(500)).empty());
  CHECK(first_here.tick(now + seconds(1)).front().kind == Action::Kind::note);
  CHECK(first_here.interrupted(SIGTERM, now + seconds(1)) == Actions{signal_all(SIGKILL)});
}

TEST_CASE_FIXTURE(SupervisorFixture, "a scheduler's signal to some agents is passed on once") {
  Supervisor job = start(2);
  CHECK(job.agent_signalled(SIGUSR1, now) == Actions{signal_all(SIGUSR1)});
  CHECK(job.agent_signalled(SIGUSR1, now + milliseconds(4999)).empty());
  CHECK(job.agent_signalled(SIGUSR2, now + seconds(1)) == Actions{signal_all(SIGUSR2)});
  CHECK(job.agent_signalled(SIGUSR1, now + seconds(10)) == Actions{signal_all(SIGUSR1)});
  CHECK(job.outcome().reason.empty());
}

TEST_CASE_FIXTURE(SupervisorFixture, "a failure before a scheduler's stop keeps its status") {
  Supervisor job = start();
  job.exited(0, {.code = 5}, now);
  CHECK(job.agent_signalled(SIGTERM, now).empty());
  CHECK(job.outcome().exit_status == 5);
}

}  // namespace
}  // namespace dt

#include "launcher/report/outcome.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE("count_lost_output: lost output is a failure of a job that ended well") {
  Outcome outcome;
  count_lost_output(outcome,
                    {Errc::os, "standard output cannot be written (No space left on device)"});
  CHECK(outcome.exit_status == 1);
  CHECK(outcome.reason ==
        "output is lost: standard output cannot be written (No space left on device)");
  outcome = {};
  count_lost_output(outcome, {Errc::closed, "Broken pipe"});
  CHECK(outcome.exit_status == 141);
  CHECK(outcome.reason == reader_gone_text);
  const Outcome failed = {.exit_status = 7, .failure = {}, .reason = {}, .failed_tasks = 1};
  outcome = failed;
  count_lost_output(outcome, {Errc::closed, "Broken pipe"});
  CHECK(outcome == failed);
}

TEST_CASE("interrupted_outcome has the status of a shell, and the signal's name") {
  CHECK(interrupted_outcome(SIGTERM) ==
        Outcome{.exit_status = 143, .failure = {}, .reason = "interrupted by SIGTERM"});
  CHECK(stopped_outcome(SIGTERM) ==
        Outcome{.exit_status = 0, .failure = {}, .reason = "stopped by SIGTERM"});
}

}  // namespace
}  // namespace dt

#include "cmd/kept_command.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using Action = KeptWords::Action;

TEST_CASE("commands for a job that has ended read its folder") {
  const TemporaryFolder folder;
  const Environment environment = {{"XDG_STATE_HOME", folder.path()}};
  CHECK(run_kept({.action = Action::wait}, environment).error().code == Errc::input);
  folder.write("dtrain/jobs/a-1/summary.json", R"({"began_s": 1, "exit_status": 5})");
  folder.write("dtrain/jobs/a-1/report.json",
               R"({"tasks": [{"role": "ps", "index": 0, "rank": null}]})");
  CHECK(run_kept({.action = Action::wait}, environment).value() == 5);
  CHECK(run_kept({.action = Action::stop, .id = "a-1"}, environment).value() == 0);
  CHECK(run_kept({.action = Action::logs, .rank = 0}, environment).error().message ==
        "a-1 has no rank 0; it has none");
  CHECK(run_kept({.action = Action::logs, .task = TaskId{"ps", 1}}, environment).error().message ==
        "a-1 has no task ps:1; it has ps:0");
  CHECK(run_kept({.action = Action::status, .cluster_spec = true}, environment).error().message ==
        "a-1: none of its tasks runs");
  CHECK(run_kept({.action = Action::rm, .id = "a-1"}, environment).value() == 0);
  CHECK(run_kept({.action = Action::rm, .id = "a-1"}, environment).error().code == Errc::input);
}

}  // namespace
}  // namespace dt

#include "launcher/config/jobs/job_text.h"

#include "launcher/config/jobs/job_file.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the text of a job has its options, variables and roles, with comments") {
  const OptionSource options = {.values = {{"env", {"A=1", "B", "A=\"2\"", "C.d=3"}},
                                           {"fetch", {"model"}},
                                           {"np", {"4"}},
                                           {"role", {"ps=1@a,b", "chief=1,worker=2"}},
                                           {"role-command", {"ps=python 'the server.py'"}},
                                           {"role-env", {"ps=X=1", "ps=X=2"}},
                                           {"role-ranked", {"ps"}},
                                           {"restart-role", {"ps=2,worker=always"}}},
                                .origins = {}};
  CHECK(job_file_text(options, {"python", "dir/train.py"}) ==
        R"(# A job for: dtrain job run FILE. All keys are in dtrain.job.toml(5).
schema = 1
name = "train"
command = ["python", "dir/train.py"]
# Variables with the values that they have where dtrain runs.
pass-env = ["B"]
# When the job ends, also by a failure, bring the files of rank 0's copy whose path fits PATTERN back to the same place in the tree.
outputs = "model"
# Processes to start.
np = 4

[env]
A = "\"2\""
"C.d" = "3"

[roles.ps]
replicas = 1
hosts = ["a,b"]
command = ["python", "the server.py"]
restart = "on-failure:2"
ranked = true
env = { X = "2" }

[roles.chief]
replicas = 1

[roles.worker]
replicas = 2
restart = "always"
)");
}

TEST_CASE("the text of a job has a name that a job may have") {
  const auto name_of = [](std::vector<std::string> command, OptionValues values = {}) {
    const std::string text = job_file_text({.values = std::move(values), .origins = {}}, command);
    return read_job_file(text, "j").value().options.values.at("name").back();
  };
  CHECK(name_of({"python", "a/b.py"}) == "b");
  CHECK(name_of({"./train"}) == "train");
  CHECK(name_of({"/bin/["}) == "job");
  CHECK(name_of({}) == "job");
  CHECK(name_of({"x"}, {{"name", {"mine"}}}) == "mine");
}

}  // namespace
}  // namespace dt

#include "launcher/config/allocation/started_once.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

std::string error_of(const Result<>& once) {
  return once ? "accepted" : once.error().message;
}

TEST_CASE("check_single_task: of the tasks that srun has started, the first has the message") {
  CHECK(error_of(check_single_task({}, false)) == "accepted");
  CHECK(error_of(check_single_task({{"SLURM_STEP_NUM_TASKS", "1"}}, false)) == "accepted");
  CHECK(error_of(check_single_task({{"SLURM_NTASKS", "4"}}, false)) == "accepted");  // sbatch
  Environment step = {{"SLURM_STEP_NUM_TASKS", "4"}};
  const std::string message = error_of(check_single_task(step, false));
  CHECK(message.starts_with("srun has started dtrain run 4 times"));
  step["SLURM_PROCID"] = "0";
  CHECK(error_of(check_single_task(step, false)) == message);
  step["SLURM_PROCID"] = "3";
  CHECK(error_of(check_single_task(step, false)).empty());
  CHECK(error_of(check_single_task(step, true)) == "accepted");
  step["DTRAIN_ROLE"] = "worker";
  CHECK(error_of(check_single_task(step, false)) == "accepted");
}

TEST_CASE("check_single_node: a container of several nodes is refused, unless hosts are named") {
  struct Case {
    const char* nodes;
    std::string begins;  ///< of the error
  };
  const Case cases[] = {{"1", "accepted"},
                        {"2", "PET_NNODES=2: torchrun would be started once on each node"},
                        {"1:4", "PET_NNODES=1:4: torchrun"},
                        {"x", "accepted"}};
  for (const Case& c : cases) {
    CAPTURE(c.nodes);
    CHECK(error_of(check_single_node({{"PET_NNODES", c.nodes}}, false)).starts_with(c.begins));
  }
  CHECK(error_of(check_single_node({}, false)) == "accepted");
  CHECK(error_of(check_single_node({{"PET_NNODES", "2"}}, true)) == "accepted");
  CHECK(error_of(check_single_node({{"PET_NNODES", "2"}, {"DTRAIN_ROLE", "worker"}}, false)) ==
        "accepted");
}

}  // namespace
}  // namespace dt

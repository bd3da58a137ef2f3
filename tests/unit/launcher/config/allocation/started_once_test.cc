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

TEST_CASE("tasks_of_step: a number of srun's, else none") {
  CHECK(tasks_of_step({}) == 0);
  CHECK(tasks_of_step({{"SLURM_STEP_NUM_TASKS", "x"}}) == 0);
  CHECK(tasks_of_step({{"SLURM_STEP_NUM_TASKS", "4"}}) == 4);
}

}  // namespace
}  // namespace dt

#include "launcher/config/allocation/started_once.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("check_started_once: a launcher that several processes or nodes start is refused") {
  struct Case {
    Environment environment;
    bool names_hosts;
    std::string begins;  ///< of the error; empty: none
  };
  const Case cases[] = {
      {{}, false, ""},
      {{{"SLURM_STEP_NUM_TASKS", "1"}}, false, ""},
      {{{"SLURM_NTASKS", "4"}}, false, ""},  // a script of sbatch
      {{{"SLURM_STEP_NUM_TASKS", "4"}}, false, "srun has started dtrain run 4 times"},
      {{{"SLURM_STEP_NUM_TASKS", "4"}}, true, "srun has started dtrain run 4 times"},
      {{{"SLURM_STEP_NUM_TASKS", "4"}, {"DTRAIN_ROLE", "worker"}}, false, ""},
      {{{"PET_NNODES", "1"}}, false, ""},
      {{{"PET_NNODES", "2"}}, false, "PET_NNODES=2: torchrun would be started once on each node"},
      {{{"PET_NNODES", "1:4"}}, false, "PET_NNODES=1:4: torchrun"},
      {{{"PET_NNODES", "2"}}, true, ""},
      {{{"PET_NNODES", "x"}}, false, ""}};
  for (const Case& c : cases) {
    const auto once = check_started_once(c.environment, c.names_hosts);
    CHECK(once.has_value() == c.begins.empty());
    if (!once) CHECK(once.error().message.starts_with(c.begins));
  }
}

}  // namespace
}  // namespace dt

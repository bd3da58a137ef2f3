#include "launcher/config/hosts/slurm_allocation.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE(
    "unused_allocation_warning: hosts of a Slurm allocation that a job leaves out are named") {
  const Environment two_hosts = {{"SLURM_JOB_NODELIST", "node[1-2]"}, {"SLURM_JOB_NUM_NODES", "2"}};
  CHECK(unused_allocation_warning(two_hosts) ==
        "the Slurm allocation has 2 hosts (node[1-2]), but this job runs on one; to use them all: "
        "-H \"$SLURM_JOB_NODELIST\"");
  struct Case {
    const char* name;
    const char* value;
    bool warns;
  };
  const Case cases[] = {{"SLURM_JOB_NUM_NODES", "1", false}, {"SLURM_JOB_NUM_NODES", "x", false},
                        {"SLURM_STEP_NUM_TASKS", "1", true}, {"SLURM_STEP_NUM_TASKS", "2", false},
                        {"DTRAIN_ROLE", "worker", false},    {"SLURM_PROCID", "0", true}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.value);
    Environment changed = two_hosts;
    changed[c.name] = c.value;
    CHECK(unused_allocation_warning(changed).has_value() == c.warns);
  }
  CHECK_FALSE(unused_allocation_warning({{"SLURM_JOB_NUM_NODES", "2"}}).has_value());
}

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

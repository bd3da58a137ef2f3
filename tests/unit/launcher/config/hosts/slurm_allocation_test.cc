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

}  // namespace
}  // namespace dt

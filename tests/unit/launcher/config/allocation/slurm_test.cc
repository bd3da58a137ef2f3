#include "launcher/config/allocation/slurm.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

std::string read(Environment environment, std::optional<int> per_host = {}) {
  environment["SLURM_JOB_ID"] = "21";
  return shown(read_slurm({environment, reader_of({}), per_host}));
}

/// Returns the variables of a job that `sbatch` has started with these values.
Environment job(std::string nodes, std::string tasks, std::string cpus, bool asked) {
  Environment environment = {{"SLURM_JOB_NODELIST", std::move(nodes)},
                             {"SLURM_TASKS_PER_NODE", std::move(tasks)},
                             {"SLURM_JOB_CPUS_PER_NODE", std::move(cpus)}};
  if (asked) environment["SLURM_NTASKS"] = "2";
  return environment;
}

TEST_CASE("read_slurm: a node offers its tasks, or its GPUs, or one slot, or its CPUs") {
  // Variables of Slurm 22.05.8, behind the words of sbatch.
  const AllocationCase cases[] = {
      // -N3 --ntasks-per-node=2
      {job("n[1-3]", "2(x3)", "2(x3)", true), "Slurm job 21: n1:2 n2:2 n3:2"},
      // -N3 -n7
      {job("n[1-3]", "4,2,1", "4,2,1", true), "Slurm job 21: n1:4 n2:2 n3:1"},
      // -N2 --gpus-per-task=1 -n4
      {job("n[1-2]", "3,1", "3,1", true), "Slurm job 21: n1:3 n2:1"},
      // -N2 --gpus=6 -n6
      {job("n[1-2]", "4,2", "4,2", true), "Slurm job 21: n1:4 n2:2"},
      // -w n1,n[3-4] --ntasks-per-node=1
      {job("n[1,3-4]", "1(x3)", "1(x3)", true), "Slurm job 21: n1(1) n3(1) n4(1)"},
      // -N2 -n2 -c2
      {job("n[1-2]", "1(x2)", "2(x2)", true), "Slurm job 21: n1(1) n2(1)"},
      // -N1 -n1
      {job("n1", "1", "1", true), "Slurm job 21: n1(1)"},
      // --array=3 -N2: no tasks were asked for.
      {job("n[1-2]", "1(x2)", "1(x2)", false), "Slurm job 21: n1(1) n2(1)"},
      {job("n[1-2]", "8(x2)", "8,4", false), "Slurm job 21: n1(8) n2(4)"},
      {{{"SLURM_JOB_NODELIST", "n[1-2]"}}, "Slurm job 21: n1 n2"},
      {{{"SLURM_JOB_NODELIST", "n1"},
        {"SLURM_NTASKS_PER_NODE", "1"},
        {"SLURM_TASKS_PER_NODE", "1"},
        {"SLURM_JOB_CPUS_PER_NODE", "8"}},
       "Slurm job 21: n1(1)"},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(read(c.environment) == c.shown);
  }
}

TEST_CASE("read_slurm: --nproc-per-node comes first, and GPUs of the first node count nowhere") {
  CHECK(read(job("n[1-2]", "1(x2)", "4(x2)", true), 8) == "Slurm job 21: n1:8 n2:8");
  CHECK(read(job("n[1-2]", "4(x2)", "4(x2)", true), 2) == "Slurm job 21: n1:2 n2:2");
  Environment gpus = job("n[1-2]", "1(x2)", "4(x2)", true);
  gpus["SLURM_JOB_GPUS"] = "0,1,2";
  CHECK(read(gpus) == "Slurm job 21: n1(1) n2(1)");
}

/// A job of two groups: sbatch -N1 -n1 : -N2 -n4.
Environment two_groups() {
  return {{"SLURM_HET_SIZE", "2"},
          {"SLURM_JOB_NODELIST", "n1"},
          {"SLURM_NTASKS", "1"},
          {"SLURM_TASKS_PER_NODE", "1"},
          {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
          {"SLURM_NTASKS_HET_GROUP_0", "1"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"},
          {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "1"},
          {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
          {"SLURM_NTASKS_HET_GROUP_1", "4"},
          {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,1"},
          {"SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "3,1"}};
}

TEST_CASE("read_slurm: a heterogeneous job has the nodes of all groups, in order") {
  Environment groups = two_groups();
  CHECK(read(groups) == "Slurm job 21: n1:1 n2:3 n3:1");
  CHECK(read(groups, 2) == "Slurm job 21: n1:2 n2:2 n3:2");
  groups["SLURM_JOB_NODELIST_HET_GROUP_1"] = "n[1-2]";
  CHECK(read(groups) == "Slurm job 21: n1:4 n2:1");
  groups["SLURM_TASKS_PER_NODE_HET_GROUP_1"] = "1(x2)";
  CHECK(read(groups) == "Slurm job 21: n1(2) n2(1)");
  groups["SLURM_HET_SIZE"] = "3";
  CHECK(read(groups) ==
        "SLURM_JOB_NODELIST_HET_GROUP_2 is not set, as the scheduler sets it for its jobs");
  groups["SLURM_HET_SIZE"] = "129";
  CHECK(read(groups) == "SLURM_HET_SIZE=129: expected 1..128");
}

TEST_CASE("read_slurm: a step on some nodes describes no tasks of the others") {
  Environment step = job("n[1-3]", "1", "4(x3)", true);
  CHECK(read(step) ==
        "SLURM_TASKS_PER_NODE=1: 1 number for the 3 hosts of "
        "SLURM_JOB_NODELIST=n[1-3]");
  step["SLURM_STEP_ID"] = "0";
  CHECK(read(step) == "Slurm job 21: n1(4) n2(4) n3(4)");
}

TEST_CASE("read_slurm: variables that contradict each other are refused by name") {
  const AllocationCase cases[] = {
      {{}, "SLURM_JOB_NODELIST is not set, as the scheduler sets it for its jobs"},
      {{{"SLURM_JOB_NODELIST", ""}},
       "SLURM_JOB_NODELIST is not set, as the scheduler sets it for its jobs"},
      {{{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_NTASKS", "1"}},
       "SLURM_TASKS_PER_NODE is not set, as the scheduler sets it for its jobs"},
      {job("n[1-3]", "2,1", "2(x3)", true),
       "SLURM_TASKS_PER_NODE=2,1: 2 numbers for the 3 hosts of SLURM_JOB_NODELIST=n[1-3]"},
      {job("n1", "2", "2(x3)", true),
       "SLURM_JOB_CPUS_PER_NODE=2(x3): 3 numbers for the 1 host of SLURM_JOB_NODELIST=n1"},
      {job("n[3-1]", "2", "2", true),
       "SLURM_JOB_NODELIST=n[3-1]: expected numbers in brackets, such as [01-16] or [1-3,7], got "
       "\"3-1\""},
      {job("n1,n1", "2,1", "2,2", true),
       "SLURM_JOB_NODELIST: host \"n1\" is given with 2 slots and with 1"},
      {job("n1,n1", "2,2", "2,2", true), "Slurm job 21: n1:2"},
      {job("n1", "x", "2", true),
       "SLURM_TASKS_PER_NODE=x: expected numbers of 1..4096 such as 4(x2),1, got \"x\""},
  };
  for (const AllocationCase& c : cases) {
    CAPTURE(c.shown);
    CHECK(read(c.environment) == c.shown);
  }
}

}  // namespace
}  // namespace dt

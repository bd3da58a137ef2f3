#include "launcher/config/allocation/allocation.h"

#include "tests/unit/launcher/config/allocation/shown_allocation.h"

#include <doctest/doctest.h>

#include <utility>

namespace dt {
namespace {

const Files files = {{"/pbs", "pbs\n"}, {"/pe", "sge 1 q u\n"}, {"/mpi", "mpi slots=2\n"}};

std::string found(std::string_view choice, const Environment& environment) {
  const auto allocation = find_allocation(choice, {environment, reader_of(files)});
  if (!allocation) return allocation.error().message;
  return *allocation ? shown(**allocation) : "none";
}

/// Variables of all schedulers at once.
Environment all_schedulers() {
  return {{"SLURM_JOB_ID", "21"},
          {"SLURM_JOB_NODELIST", "slurm"},
          {"SLURM_NTASKS", "2"},
          {"SLURM_TASKS_PER_NODE", "2"},
          {"LSB_JOBID", "7"},
          {"LSB_HOSTS", "lsf"},
          {"PBS_JOBID", "12"},
          {"PBS_NODEFILE", "/pbs"},
          {"JOB_ID", "4"},
          {"PE_HOSTFILE", "/pe"},
          {"OMPI_MCA_orte_default_hostfile", "/mpi"},
          {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
}

TEST_CASE("find_allocation: auto takes the first scheduler in whose job dtrain runs") {
  Environment environment = all_schedulers();
  const std::pair<const char*, const char*> steps[] = {
      {"Slurm job 21: slurm:2", "SLURM_JOB_ID"},
      {"LSF job 7: lsf:1", "LSB_JOBID"},
      {"PBS job 12: pbs:1", "PBS_NODEFILE"},
      {"Grid Engine job 4: sge:1", "JOB_ID"},
      {"MPIJob: mpi:2", "KUBERNETES_SERVICE_HOST"}};
  for (const auto& [shown, sign] : steps) {
    CHECK(found("auto", environment) == shown);
    environment.erase(sign);
  }
  CHECK(found("auto", environment) == "none");
  // Without a pod, the variables of MPI count only by the option.
  CHECK(found("mpijob", environment) == "MPIJob: mpi:2");
}

TEST_CASE("find_allocation: a scheduler that is named decides") {
  const Environment environment = all_schedulers();
  CHECK(found("slurm", environment) == "Slurm job 21: slurm:2");
  CHECK(found("lsf", environment) == "LSF job 7: lsf:1");
  CHECK(found("pbs", environment) == "PBS job 12: pbs:1");
  CHECK(found("sge", environment) == "Grid Engine job 4: sge:1");
  CHECK(found("mpijob", environment) == "MPIJob: mpi:2");
  CHECK(found("none", environment) == "none");
}

TEST_CASE("find_allocation: a scheduler that is named requires its job") {
  const auto refused = [](const std::string& job, const std::string& signs) {
    return "this is not " + job + ", which would have " + signs +
           " in its environment; start dtrain in such a job, or leave the option out";
  };
  CHECK(found("slurm", {}) == refused("a Slurm job", "SLURM_JOB_ID"));
  CHECK(found("lsf", {}) == refused("an LSF job", "LSB_JOBID"));
  CHECK(found("pbs", {{"PBS_JOBID", "12"}}) == refused("a PBS job", "PBS_JOBID with PBS_NODEFILE"));
  CHECK(found("sge", {{"JOB_ID", "4"}}) ==
        refused("a parallel job of Grid Engine", "PE_HOSTFILE with JOB_ID"));
  CHECK(found("mpijob", {{"K_MPI_JOB_ROLE", "launcher"}}) ==
        refused("the launcher of an MPIJob",
                "OMPI_MCA_orte_default_hostfile, I_MPI_HYDRA_HOST_FILE or HYDRA_HOST_FILE"));
}

TEST_CASE("find_allocation: a process of a dtrain job has no allocation") {
  Environment environment = all_schedulers();
  environment["DTRAIN_ROLE"] = "worker";
  CHECK(found("auto", environment) == "none");
  CHECK(found("slurm", environment) == "none");
  CHECK(found("slurm", {{"DTRAIN_ROLE", "worker"}}) == "none");
}

TEST_CASE("find_allocation: an error of a reader has the way out") {
  CHECK(found("auto", {{"SLURM_JOB_ID", "21"}, {"SLURM_JOB_NODELIST", "n[3-1]"}}) ==
        "SLURM_JOB_NODELIST=n[3-1]: expected numbers in brackets, such as [01-16] or [1-3,7], got "
        "\"3-1\"\n"
        "(-H HOST:SLOTS,… gives other hosts, --allocation none runs on this machine)");
}

TEST_CASE("allocation_line: the hosts are short, and the slots are there where they are known") {
  const std::vector<Host> three = {
      {.name = "n1", .slots = 4}, {.name = "n2", .slots = 4}, {.name = "n3", .slots = 4}};
  CHECK(allocation_line("Slurm job 21", three) == "Slurm job 21: n[1-3], 12 slots");
  CHECK(allocation_line("LSF job 7", {{.name = "a", .slots = 1}}) == "LSF job 7: a, 1 slot");
  CHECK(allocation_line("Slurm job 21", {{.name = "n1", .slots_without_gpus = 4},
                                         {.name = "n2", .slots_without_gpus = 4}}) ==
        "Slurm job 21: n[1-2]");
}

}  // namespace
}  // namespace dt

#include "launcher/config/files/torchrun_variables.h"

#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

std::string options_of_torchrun(const OptionSources& nearer, const Environment& environment) {
  const OptionSource source = torchrun_variables(nearer, environment);
  std::string text;
  for (const auto& [name, values] : source.values) {
    text += text.empty() ? "" : " ";
    text += name + "=" + values.front() + "(" + source.origins.at(name) + ")";
  }
  return text;
}

TEST_CASE("torchrun's variables give the options that nearer sources leave out") {
  const Environment two = {{"PET_NNODES", "2"},          {"PET_NODE_RANK", "1"},
                           {"PET_NPROC_PER_NODE", "4"},  {"PET_MASTER_ADDR", "n0"},
                           {"PET_MASTER_PORT", "29400"}, {"PET_RDZV_ID", ""}};
  CHECK(options_of_torchrun({}, two) ==
        "master-addr=n0(PET_MASTER_ADDR) master-port=29400(PET_MASTER_PORT) "
        "nnodes=2(PET_NNODES) node-rank=1(PET_NODE_RANK) nproc-per-node=4(PET_NPROC_PER_NODE)");
  CHECK(options_of_torchrun({flags({{"nnodes", {"3"}}, {"rdzv-endpoint", {"n1"}}})}, two) ==
        "node-rank=1(PET_NODE_RANK) nproc-per-node=4(PET_NPROC_PER_NODE)");
  CHECK(options_of_torchrun({flags({{"hosts", {"a"}}})}, two).empty());
  const std::string processes = "nproc-per-node=4(PET_NPROC_PER_NODE)";
  CHECK(options_of_torchrun({flags({{"standalone", {"true"}}})}, two) == processes);
  for (const char* name : {"np", "ppn", "nproc-per-node", "role"}) {
    CAPTURE(name);
    const std::string options = options_of_torchrun({flags({{name, {"2"}}})}, two);
    CHECK(options.find("nnodes=2") != std::string::npos);
    CHECK(options.find("nproc") == std::string::npos);
  }
  Environment inside = two;
  inside["DTRAIN_ROLE"] = "worker";
  CHECK(options_of_torchrun({}, inside).empty());
}

TEST_CASE("torchrun's endpoint stands before its master, as for torchrun") {
  const Environment both = {{"PET_RDZV_BACKEND", "c10d"},
                            {"PET_RDZV_ENDPOINT", "n1:29400"},
                            {"PET_MASTER_ADDR", "n0"},
                            {"PET_MASTER_PORT", "1"}};
  CHECK(options_of_torchrun({}, both) ==
        "rdzv-backend=c10d(PET_RDZV_BACKEND) rdzv-endpoint=n1:29400(PET_RDZV_ENDPOINT)");
  CHECK(options_of_torchrun({flags({{"master-addr", {"n2"}}})}, both) ==
        "master-port=1(PET_MASTER_PORT) rdzv-backend=c10d(PET_RDZV_BACKEND)");
}

TEST_CASE("torchrun's nodes do not count where a scheduler has the hosts, except in its steps") {
  Environment slurm = {{"SLURM_JOB_ID", "21"}, {"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "4"}};
  CHECK(options_of_torchrun({}, slurm) == "nproc-per-node=4(PET_NPROC_PER_NODE)");
  CHECK(options_of_torchrun({flags({{"allocation", {"none"}}})}, slurm).starts_with("nnodes=2"));
  slurm["SLURM_STEP_NUM_TASKS"] = "2";
  CHECK(options_of_torchrun({}, slurm).starts_with("nnodes=2(PET_NNODES)"));
}

}  // namespace
}  // namespace dt

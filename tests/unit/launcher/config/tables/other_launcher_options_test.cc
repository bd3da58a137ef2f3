#include "launcher/config/tables/other_launcher_options.h"

#include "launcher/config/horovod_settings.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("torchrun's options for hosts and processes") {
  CHECK(decide({flags({{"nproc-per-node", {"3"}}})}).value().placement.per_host == 3);
  const RunConfig gpus = decide({flags({{"nproc-per-node", {"gpu"}}})}).value();
  CHECK(gpus.hosts == std::vector<Host>{{.name = "localhost"}});
  CHECK(gpus.placement.slot_unit == SlotUnit::gpu);
  CHECK(decide({flags({{"nproc-per-node", {"cpu"}}})}).value().placement.slot_unit ==
        SlotUnit::cpu);
  const RunConfig automatic =
      decide({flags({{"nproc-per-node", {"auto"}}, {"hosts", {"a:2,b"}}, {"nnodes", {"2:2"}}})})
          .value();
  CHECK(automatic.hosts == std::vector<Host>{{.name = "a"}, {.name = "b"}});
  CHECK(automatic.placement.slot_unit == SlotUnit::gpu_or_cpu);
  CHECK(decide({flags({{"map-by", {"ppr:2:node"}}, {"hosts", {"a,b"}}})})
            .value()
            .placement.per_host == 2);
  CHECK(decide({flags({{"np", {"1"}}, {"nnodes", {"1"}}, {"node-rank", {"0"}}})}).has_value());
}

TEST_CASE("torchrun's --nnodes MIN:MAX needs MIN hosts, unless a file or a program may name more") {
  const auto accepts = [](const OptionValues& values) {
    return decide({flags(values)}).has_value();
  };
  CHECK(accepts({{"hosts", {"a,b"}}, {"nnodes", {"2:4"}}}));
  CHECK(accepts({{"hosts", {"a,b,c"}}, {"nnodes", {"1:2"}}}));
  CHECK_FALSE(accepts({{"hosts", {"a,b"}}, {"nnodes", {"3:4"}}}));
  CHECK(accepts({{"hostfile", {"hosts"}}, {"nnodes", {"3:4"}}}));
  CHECK(accepts({{"host-discovery-script", {"./h"}}, {"nnodes", {"3:4"}}}));
}

TEST_CASE("hydra's -genv sets variables by pairs of words") {
  const RunConfig genv = decide({flags({{"np", {"1"}}, {"genv", {"A", "1", "B", "x y"}}})}).value();
  REQUIRE(genv.environment.size() == 2);
  CHECK(genv.environment[1].name == "B");
  CHECK(genv.environment[1].value == "x y");
}

TEST_CASE("an option of torchrun or mpirun that cannot be honoured is refused in one line") {
  const Refusal cases[] = {
      {{{"nproc-per-node", {"many"}}},
       "--nproc-per-node: expected 1..4096, gpu, cpu or auto, got \"many\""},
      {{{"nproc-per-node", {"xpu"}}},
       "--nproc-per-node: dtrain counts GPUs of NVIDIA alone, and no devices of torch.xpu; give "
       "their number"},
      {{{"nproc-per-node", {"2"}}, {"ppn", {"2"}}},
       "--nproc-per-node: conflicts with --ppn; give one of them"},
      {{{"np", {"2"}}, {"nnodes", {"2:4"}}},
       "--nnodes: 2:4 nodes, but neither their hosts nor the address of node 0 are given. Start "
       "dtrain run once with -H HOST,HOST,…, or on each node with --node-rank K and --master-addr "
       "HOST"},
      {{{"hosts", {"a,b,c"}}, {"nnodes", {"2"}}},
       "--nnodes: 2, but the job has 3 hosts; name all of them: -H HOST,HOST,…"},
      {{{"hostfile", {"hosts"}}, {"nnodes", {"4"}}},
       "--nnodes: 4, but the job has 2 hosts; name all of them: -H HOST,HOST,…"},
      {{{"np", {"2"}}, {"nnodes", {"x"}}},
       "--nnodes: expected 1..65536 hosts, or MIN:MAX with MIN up to MAX, such as 2:4, "
       "got \"x\""},
      {{{"np", {"2"}}, {"node-rank", {"1"}}},
       "--node-rank: a job on one node has the rank 0 alone, not 1; where each node starts dtrain "
       "run, give --nnodes N and --master-addr HOST, too"},
      {{{"np", {"2"}}, {"tee", {"3"}}, {"no-macros", {"true"}}},
       "-t: needs a folder for the files; add --log-dir DIR"},
      {{{"np", {"2"}}, {"kill-on-bad-exit", {"0"}}},
       "-K: cannot be turned off; it means: End the job when a process fails, as "
       "dtrain does without --on-failure continue."},
      {{{"np", {"2"}}, {"role", {"trainer"}}},
       "--role: expected NAME=COUNT or NAME=COUNT@HOSTS, got \"trainer\""},
      {{{"np", {"2"}}, {"map-by", {"ppr:0:node"}}},
       "--map-by: expected ppr:N:node with N of 1..4096, got \"ppr:0:node\""},
  };
  expect_refused(cases);
}

TEST_CASE("-np behind the command is named when it is missing before") {
  const auto decided = make_run_config({flags({})}, {"true", "-np", "2"}, few_files);
  REQUIRE_FALSE(decided);
  CHECK(decided.error().message ==
        "-np stands in the command (true); options come first: dtrain run -np N COMMAND");
}

TEST_CASE("--mca is a warning, and an error where dtrain has an option for it") {
  const auto read = [](const std::vector<std::string>& words, RunConfig& config) {
    return read_mca({{.values = {{"mca", words}}, .origins = {{"mca", "-mca"}}}}, config);
  };
  RunConfig config;
  CHECK(read({"pml", "ob1", "btl", "^openib", "pml", "ucx"}, config));
  CHECK(config.warnings ==
        std::vector<std::string>{
            "-mca pml, btl: no effect, since dtrain starts the processes without Open MPI"});
  const auto refused = read({"pml", "ob1", "plm_rsh_agent", "rsh"}, config);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "-mca: plm_rsh_agent: dtrain's option is --rsh-agent PROGRAM");
}

}  // namespace
}  // namespace dt

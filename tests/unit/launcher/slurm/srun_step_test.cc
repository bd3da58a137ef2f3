#include "launcher/slurm/srun_step.h"

#include "base/format.h"
#include "base/text.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace dt {
namespace {

bool has_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Returns the step of a job on n1 to n3, whose launcher is on n1.
SrunStep step_of(std::vector<std::string> hosts = {"n2", "n3"}) {
  return {.nodes = {"n1", "n2", "n3"},
          .hosts = std::move(hosts),
          .executable = "/shared/dtrain",
          .stamp = "9.5",
          .sha256 = "abc",
          .patience = seconds(24)};
}

/// Returns the words of srun without those that all steps have.
std::string shown(const SrunStep& step, const Environment& environment) {
  const auto command = srun_command(step, environment);
  if (!command) return command.error().message;
  const std::vector<std::string> constant = {
      "--ntasks-per-node=1",  "--mpi=none",  "--cpu-bind=none",
      "--kill-on-bad-exit=0", "--no-kill",   "--wait=0",
      "--immediate=24",       "--input=all", "--export=ALL"};
  std::vector<std::string> rest;
  std::ranges::copy_if(command->words, std::back_inserter(rest), [&](const std::string& word) {
    return std::ranges::find(constant, word) == constant.end() && !has_text(word, "sha256sum");
  });
  CHECK(rest.size() + constant.size() + 1 == command->words.size());
  return join(rest, " ");
}

TEST_CASE("srun_command: one task on each host becomes its agent") {
  struct Case {
    Environment environment;
    std::string shown;
  };
  const std::string two =
      "--nodes=2 --ntasks=2 --nodelist=n[2-3] /bin/sh -c dtrain /shared/dtrain 9.5 abc ";
  const std::string three =
      "--nodes=3 --ntasks=3 --nodelist=n[1-3] /bin/sh -c dtrain /shared/dtrain 9.5 abc  n1";
  const Case cases[] = {
      {{}, "srun " + two},
      // A job step within a normal step would wait for its end. The interactive step holds nothing.
      {{{"SLURM_STEP_ID", "0"}}, "srun --overlap " + two},
      {{{"SLURM_STEP_ID", "4294967290"}}, "srun " + two},
      // Slurm shares out the GPUs among all nodes.
      {{{"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_NTASKS", "4"}}, "srun --gpus=4 " + three},
      {{{"SLURM_GPUS_PER_TASK", "a100:2"}, {"SLURM_NTASKS", "4"}}, "srun --gpus=a100:8 " + three},
      {{{"SLURM_GPUS", "6"}}, "srun " + three},
      {{{"SLURM_GPUS_PER_NODE", "2"}}, "srun " + two},
      // There, SLURM_NTASKS is that of the outer step.
      {{{"SLURM_STEP_ID", "0"}, {"SLURM_GPUS_PER_TASK", "1"}, {"SLURM_NTASKS", "1"}},
       "srun --overlap " + two},
      {{{"SLURM_GPUS_PER_TASK", "all"}, {"SLURM_NTASKS", "4"}}, "srun " + two},
  };
  for (const Case& c : cases) {
    CAPTURE(c.shown);
    CHECK(shown(step_of(), c.environment) == c.shown);
  }
}

TEST_CASE("srun_command: options of the batch script's tasks are not those of agents") {
  const auto command = srun_command(step_of(), {{"SLURM_CPUS_PER_TASK", "2"},
                                                {"SRUN_CPUS_PER_TASK", "2"},
                                                {"SLURM_GPUS_PER_TASK", "1"},
                                                {"SLURM_NTASKS_PER_NODE", "4"},
                                                {"SLURM_DISTRIBUTION", "cyclic"},
                                                {"SLURM_JOB_ID", "21"},
                                                {"PATH", "/usr/bin"}});
  REQUIRE(command);
  CHECK(command->environment == Environment{{"SLURM_JOB_ID", "21"}, {"PATH", "/usr/bin"}});
}

TEST_CASE("srun_command: the user's words come first, and a container needs a mount") {
  SrunStep step = step_of();
  step.words = {"--mem=1G"};
  const std::string rest = " --nodes=2 --ntasks=2 --nodelist=n[2-3] /bin/sh -c dtrain ";
  CHECK(shown(step, {}) == "srun --mem=1G" + rest + "/shared/dtrain 9.5 abc ");
  step.words = {"--container-image=img"};
  CHECK(shown(step, {}) == "srun --container-image=img" + rest +
                               "/shared/dtrain 9.5 abc "
                               "--container-mounts=/shared/dtrain:/shared/dtrain");
}

TEST_CASE("srun_remedy: a step that waits for another one has one") {
  CHECK(srun_remedy("srun: error: Unable to create step for job 2: Requested nodes are busy") ==
        "another step holds what the job has there: wait for its end, or start it by srun with "
        "--overlap");
  CHECK(srun_remedy("srun: error: Unable to create step for job 2: Job/step already completing")
            .empty());
}

TEST_CASE("srun_command: sbcast copies to all nodes, and the step runs and removes the copies") {
  SrunStep step = step_of({"n2"});
  step.copy = "/my tmp/copy";
  const auto command = srun_command(step, {});
  REQUIRE(command);
  REQUIRE(command->words.size() == 3);
  const std::string& script = command->words.back();
  CHECK(has_text(script, "sbcast /shared/dtrain '/my tmp/copy'"));
  // The step before need not be over.
  CHECK(has_text(script, "; printf %s \"$order\" | srun --overlap --nodes=3 --ntasks=3 "));
  CHECK(script.ends_with(
      " dtrain /shared/dtrain '/my tmp/copy' abc 'install dtrain in a folder that all hosts share, "
      "or give --ssh openssh' n1 n3; } & wait $!"));
  // Slurm 22.05 shares no total of GPUs between two steps.
  CHECK(has_text(srun_command(step, {{"SLURM_GPUS", "6"}})->words.back(), "| srun --nodes=3 "));
  step.beside = true;
  CHECK(
      shown(step, {{"SLURM_GPUS", "6"}}) ==
      "no copy of this dtrain at /shared/dtrain; install dtrain in a folder that all hosts share, "
      "or give --ssh openssh");
}

/// Runs the script for this step in a shell, with stand-ins for two programs. Returns its output.
std::string run_copying(SrunStep step, const Environment& environment, const std::string& sbcast,
                        const std::string& srun) {
  const TemporaryFolder folder;
  const auto write_program = [&](const char* name, const std::string& text) {
    const std::string path = folder.path() + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
  };
  write_program("sbcast", sbcast);
  write_program("srun", srun);
  step.copy = "copy";
  const std::string script = srun_command(step, environment).value().words.back();
  const std::string command = format("exec </dev/null 2>&1; cd {}; PATH={}:$PATH; {}",
                                     folder.path(), folder.path(), script);
  FILE* const shell = ::popen(command.c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string output(4096, '\0');
  output.resize(std::fread(output.data(), 1, output.size(), shell));
  ::pclose(shell);
  return output;
}

TEST_CASE("srun_command: an sbcast that hangs is ended, and is the reason of its hosts") {
  SrunStep step = step_of({"n2"});
  step.patience = seconds(2);
  // srun becomes the part of the step on n2: the words behind /bin/sh.
  CHECK(
      run_copying(step, {}, "echo started; exec sleep 600",
                  "while [ \"$1\" != /bin/sh ]; do shift; done; SLURMD_NODENAME=n2 exec \"$@\"") ==
      "dtrain: n2: no copy of this dtrain at /shared/dtrain; install dtrain in a folder that all "
      "hosts share, or give --ssh openssh (sbcast to copy: started sbcast had not ended after "
      "2s)\n");
}

TEST_CASE("srun_command: a launcher on a node without an agent removes the copy before the step") {
  const SrunStep step = step_of({"n2"});
  const std::string sbcast = "touch copy";
  const std::string srun = "if test -e copy; then echo kept; else echo removed; fi";
  CHECK(run_copying(step, {{"SLURMD_NODENAME", "n1"}}, sbcast, srun) == "removed\n");
  CHECK(run_copying(step, {{"SLURMD_NODENAME", "n2"}}, sbcast, srun) == "kept\n");
  // On a login node, a file of this name is another one.
  CHECK(run_copying(step, {}, sbcast, srun) == "kept\n");
}

TEST_CASE("srun_command: a heterogeneous job has a step in each group with hosts") {
  Environment environment = {{"SLURM_HET_SIZE", "2"},
                             {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                             {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"}};
  CHECK(shown(step_of(), environment) ==
        "srun --het-group=1 --nodes=2 --ntasks=2 --nodelist=n[2-3] /bin/sh -c dtrain "
        "/shared/dtrain 9.5 abc ");
  // A node of two groups is in the first.
  environment["SLURM_JOB_NODELIST_HET_GROUP_0"] = "n[1-2]";
  const auto command = srun_command(step_of(), environment);
  REQUIRE(command);
  REQUIRE(command->words.size() == 3);
  CHECK(command->words.front() == "/bin/sh");
  const std::string& script = command->words.back();
  CHECK(script.starts_with(
      "unset order; order=$(cat); printf %s \"$order\" | srun --het-group=0 --nodes=1 "));
  CHECK(has_text(script, " & printf %s \"$order\" | srun --het-group=1 --nodes=1 "));
  CHECK(script.ends_with(" & wait"));
  // sbcast brings its copy to the nodes of all groups, and each group removes it.
  SrunStep step = step_of({"n3"});
  step.copy = "/tmp/copy";
  const std::string copies = srun_command(step, environment)->words.back();
  CHECK(has_text(copies, " srun --overlap --het-group=0 --nodes=2 "));
  CHECK(has_text(copies, " & printf %s \"$order\" | srun --overlap --het-group=1 --nodes=1 "));
  CHECK(copies.ends_with(" & wait; } & wait $!"));
  environment.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  CHECK(shown(step_of(), environment).starts_with("SLURM_JOB_NODELIST_HET_GROUP_1"));
}

}  // namespace
}  // namespace dt

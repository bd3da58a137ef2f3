#include "launcher/export/kubernetes/pod_command.h"

#include "tests/unit/launcher/export/fixture.h"

namespace dt {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("the command of a pod has the options that are not in the manifest") {
  const ExportJob job = exported_job(
      "command = ['python', 'a.py', '$(X)']\nimage = 'i'\nnp = 2\nmax-restarts = 2\ngrace = '5s'\n"
      "strategy = 'mirrored'\nhosts = ['a:2']\nno-tag = true\n"
      "env = { PORT = '1', PLAIN = '$(Y)', WHERE = '{rank}' }\n");
  const PodCommand command = dtrain_command(job, {"--nnodes", "3"}, NodeReach::alone);
  CHECK(command.launcher == Words{"dtrain", "run", "--nnodes", "3", "--strategy", "mirrored",
                                  "--grace", "5s", "--no-tag", "-x", "PORT", "-x", "WHERE={rank}",
                                  "--"});
  CHECK(command.arguments == Words{"python", "a.py", "$$(X)"});
  const std::vector<PodVariable> variables = user_pod_variables(job);
  REQUIRE(variables.size() == 2);
  CHECK(variables[0] == variable_of_text("PLAIN", "$$(Y)"));
  CHECK(variables[1] == variable_of_text("PORT", "1"));
}

TEST_CASE("a script keeps its start: by python3 with options of torchrun, else as it is") {
  const std::string script = "command = ['a.py']\nimage = 'i'\n";
  const PodCommand plain = dtrain_command(exported_job(script + "np = 2\n"), {}, NodeReach::alone);
  CHECK(plain.launcher == Words{"dtrain", "run", "--no-python", "--"});
  CHECK(plain.arguments == Words{"a.py"});
  const PodCommand torchrun =
      dtrain_command(exported_job(script + "nproc-per-node = '2'\n"), {}, NodeReach::alone);
  CHECK(torchrun.launcher == Words{"dtrain", "run", "--"});
  CHECK(torchrun.arguments.front() == "python3");
  CHECK(torchrun.arguments.back() == "a.py");
  const PodCommand module =
      dtrain_command(exported_job(script + "np = 2\nmodule = true\n"), {}, NodeReach::alone);
  CHECK(module.arguments == Words{"python3", "-u", "-m", "a.py"});
}

TEST_CASE("the launcher of an MPIJob gets the options of ssh") {
  const ExportJob job = exported_job("command = ['x']\nimage = 'i'\nnp = 2\nssh-port = 2222\n");
  CHECK(dtrain_command(job, {}, NodeReach::alone).launcher == Words{"dtrain", "run", "--"});
  CHECK(dtrain_command(job, {}, NodeReach::ssh).launcher ==
        Words{"dtrain", "run", "-p", "2222", "--"});
}

TEST_CASE("the place of the code stands in the command") {
  const ExportJob job = exported_job(
      "command = ['x', '{code_dir}/a:{code_dir}/b']\nimage = 'i'\nnp = 2\n[code]\npath = '.'\n");
  CHECK(dtrain_command(job, {}, NodeReach::alone).arguments == Words{"x", "/code/a:/code/b"});
}

TEST_CASE("another launcher gets the command alone") {
  const ExportJob job = exported_job("command = ['python', '$(X)']\nimage = 'i'\nnp = 2\n");
  const PodCommand command = other_command(job, {"torchrun", "$(R)"});
  CHECK(command.launcher == Words{"torchrun", "$(R)"});
  CHECK(command.arguments == Words{"python", "$$(X)"});
}

TEST_CASE("options have their part in pods") {
  constexpr NodeReach alone = NodeReach::alone;
  CHECK(part_in_pods("hosts", alone) == ExportPart::moot);
  CHECK(part_in_pods("spare", alone) == ExportPart::left_out);
  CHECK(part_in_pods("restart-on", alone) == ExportPart::left_out);
  CHECK(part_in_pods("timeout", alone) == ExportPart::written);
  CHECK(part_in_pods("setup-once", alone) == ExportPart::written);
  CHECK(part_in_pods("setup-once", NodeReach::dialed) == ExportPart::left_out);
  CHECK(part_in_pods("ssh-port", NodeReach::dialed) == ExportPart::moot);
  CHECK(part_in_pods("ssh-port", NodeReach::ssh) == ExportPart::written);
  CHECK(part_in_plain_pods("timeout") == ExportPart::written);
  CHECK(part_in_plain_pods("nnodes") == ExportPart::written);
  CHECK(part_in_plain_pods("bind-to") == ExportPart::left_out);
  CHECK(part_in_plain_pods("fetch") == ExportPart::left_out);
}

}  // namespace
}  // namespace dt

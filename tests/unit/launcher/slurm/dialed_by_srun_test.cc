#include "launcher/slurm/dialed_by_srun.h"

#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace dt {
namespace {

RunConfig config_of_job() {
  RunConfig config;
  config.hosts = {{.name = "n1"}, {.name = "n2"}};
  config.allocation = "Slurm job 21";
  config.slurm_job = "21";
  config.start_timeout = seconds(20);
  return config;
}

/// A PATH that has an srun, or has none.
struct Machine {
  TemporaryFolder folder;
  std::string logged;
  Log log = Log(Log::Level::normal, [this](std::string_view line) { logged += line; });
  Environment environment = {{"PATH", folder.path()}};

  void add_srun() const { folder.write("srun", "#!/bin/sh\n", 0700); }
};

TEST_CASE("dialed_by_srun: srun starts the agents of a Slurm job") {
  Machine machine;
  machine.add_srun();
  const auto dialed = dialed_by_srun(config_of_job(), machine.environment, machine.log);
  REQUIRE(dialed);
  CHECK(dialed->program == "srun");
  CHECK(dialed->patience == seconds(20));
  const auto where = dialed->where().value();
  CHECK(where.port == 0);
  CHECK_FALSE(where.ips.empty());
  CHECK(machine.logged.empty());
}

TEST_CASE("dialed_by_srun: other hosts, and a way that the user gave, go without srun") {
  Machine machine;
  machine.add_srun();
  RunConfig hosts_of_user = config_of_job();
  hosts_of_user.slurm_job.clear();
  RunConfig by_ssh = config_of_job();
  by_ssh.ssh.implementation = SshImplementation::openssh;
  RunConfig by_program = config_of_job();
  by_program.ssh.program = {"blaunch"};
  for (const RunConfig& config : {hosts_of_user, by_ssh, by_program}) {
    const auto dialed = dialed_by_srun(config, machine.environment, machine.log);
    CHECK_FALSE(dialed);
  }
  CHECK(machine.logged.empty());
}

TEST_CASE("dialed_by_srun: without srun in PATH, agents start over ssh") {
  Machine machine;
  const auto dialed = dialed_by_srun(config_of_job(), machine.environment, machine.log);
  CHECK_FALSE(dialed);
  CHECK(machine.logged ==
        "dtrain: srun is not in PATH, so that agents start over ssh in Slurm job 21\n");
}

TEST_CASE("dialed_by_srun: with words of the user, srun starts the agent of this machine, too") {
  Machine machine;
  machine.add_srun();
  RunConfig config = config_of_job();
  CHECK_FALSE(dialed_by_srun(config, machine.environment, machine.log)->starts_all);
  config.srun_words = {"--container-image=img"};
  CHECK(dialed_by_srun(config, machine.environment, machine.log)->starts_all);
}

TEST_CASE("dialed_by_srun: the port of the agents is of --port-range, and stays held") {
  Machine machine;
  machine.add_srun();
  RunConfig config = config_of_job();
  const uint16_t free_port = hold_ports(1, std::nullopt).value().front().number;
  config.port_range = PortRange{free_port, free_port};
  const auto dialed = dialed_by_srun(config, machine.environment, machine.log);
  REQUIRE(dialed);
  CHECK(dialed->where().value().port == free_port);
  const auto second = dialed_by_srun(config, machine.environment, machine.log)->where();
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::refused);
}

TEST_CASE("dialed_by_srun: this machine needs an address in --network-interfaces") {
  Machine machine;
  machine.add_srun();
  RunConfig config = config_of_job();
  config.networks = {"no_such0"};
  const auto where = dialed_by_srun(config, machine.environment, machine.log)->where();
  REQUIRE_FALSE(where);
  CHECK(where.error().code == Errc::input);
  CHECK(where.error().message.starts_with("--network-interfaces, on this machine: "));
}

}  // namespace
}  // namespace dt

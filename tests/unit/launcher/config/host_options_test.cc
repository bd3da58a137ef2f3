#include "base/format.h"
#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE(
    "hosts and hostfile are one choice: the higher source decides, in one source they conflict") {
  const OptionSource file = flags({{"hostfile", {"hosts"}}});
  const OptionSource list = flags({{"hosts", {"c:1"}}});
  CHECK(decide({list, file}).value().hosts == std::vector<Host>{{.name = "c", .slots = 1}});
  CHECK(decide({file, list}).value().hosts.size() == 2);
  CHECK(error_of(decide({flags({{"hosts", {"c:1"}}, {"hostfile", {"hosts"}}})})) ==
        "-H: conflicts with --hostfile; give one of them");
}

TEST_CASE("warnings of the host list reach the configuration") {
  const RunConfig config = decide({flags({{"hosts", {"a:1,a:1"}}})}).value();
  CHECK(config.warnings ==
        std::vector<std::string>{"-H: host \"a\" given twice; merged to 2 slots"});
}

TEST_CASE("networks are given with commas, again and again, or as a list in a file") {
  const RunConfig config =
      decide({flags({{"np", {"1"}}, {"network-interfaces", {"eth0, ib0", "10.0.0.0/8"}}})}).value();
  CHECK(config.networks == std::vector<std::string>{"eth0", "ib0", "10.0.0.0/8"});
  for (const char* wrong : {"", "eth0,", "10.0.0.0/33", "a/b", "eth 0"}) {
    CAPTURE(wrong);
    CHECK(error_of(decide({flags({{"np", {"1"}}, {"network-interfaces", {wrong}}})})) ==
          format("--network-interfaces: expected interfaces or networks, for example eth0 or "
                 "10.0.0.0/8, got \"{}\"",
                 wrong));
  }
}

TEST_CASE("options for reaching hosts set their members") {
  CHECK(decide({flags({{"np", {"1"}},
                       {"ssh", {"openssh"}},
                       {"ssh-port", {"2222"}},
                       {"ssh-identity-file", {"key"}},
                       {"ssh-config", {"cfg"}},
                       {"ssh-parallel", {"7"}},
                       {"connect-timeout", {"3s"}}})})
            .value()
            .ssh == LoginOptions{.implementation = SshImplementation::openssh,
                                 .port = 2222,
                                 .identity = "key",
                                 .config = "cfg",
                                 .parallel = 7,
                                 .connect_timeout = seconds(3)});
  CHECK(decide({flags({{"np", {"1"}}, {"ssh", {"libssh2"}}})}).value().ssh.implementation ==
        SshImplementation::libssh2);
  CHECK(decide({flags({{"np", {"1"}}, {"rsh-agent", {"qrsh  -inherit"}}})}).value().ssh ==
        LoginOptions{.program = {"qrsh", "-inherit"}});
}

TEST_CASE("B17: invalid hosts and options for reaching them are refused") {
  const Refusal cases[] = {
      {{{"hosts", {"a:0"}}}, "-H: host \"a\": slots must be 1..4096, got 0"},
      {{{"hosts", {"a:1", "b:x"}}}, "-H: host \"b\": slots must be 1..4096, got \"x\""},
      {{{"hostfile", {"none"}}}, "--hostfile: cannot read \"none\": No such file or directory"},
      {{{"hostfile", {""}}}, "--hostfile: expected a file, got \"\""},
      {{{"hostfile", {"empty"}}},
       "empty: no hosts in this file; expected lines such as: node1 slots=4"},
      {{{"np", {"1"}}, {"ssh", {"rsh"}}}, "--ssh: expected auto, libssh2 or openssh, got \"rsh\""},
      {{{"np", {"1"}}, {"ssh-parallel", {"0"}}}, "--ssh-parallel: expected 1..65536, got 0"},
      {{{"np", {"1"}}, {"rsh-agent", {" "}}}, "--rsh-agent: expected a program, got \" \""},
      {{{"np", {"1"}}, {"rsh-agent", {"rsh"}}, {"ssh-port", {"22"}}},
       "-p: conflicts with --rsh-agent; give one of them"},
  };
  expect_refused(cases);
}

/// Decides within a Slurm job of the nodes n1 to n3 with 4 tasks each.
Result<RunConfig> decide_in_job(const OptionSources& sources, Environment more = {}) {
  more.merge(Environment{{"SLURM_JOB_ID", "21"},
                         {"SLURM_JOB_NODELIST", "n[1-3]"},
                         {"SLURM_NTASKS", "12"},
                         {"SLURM_TASKS_PER_NODE", "4(x3)"}});
  return make_run_config(sources, {"true"}, few_files, more);
}

/// Returns "Slurm job 21: n1:4 n2:4", or the hosts alone where the user named them.
std::string hosts_of(const Result<RunConfig>& config) {
  if (!config) return config.error().message;
  std::string all = config->allocation;
  for (const Host& host : config->hosts)
    all += (all.empty() ? "" : " ") + host.text();
  return all;
}

TEST_CASE("--host-discovery-script is a source of hosts, which the job asks") {
  const OptionSource script =
      flags({{"host-discovery-script", {"./find"}}, {"slots-per-host", {"4"}}});
  const auto source_of = [](const OptionSources& sources) {
    return decide(sources).value().host_source;
  };
  CHECK(source_of({script}) == HostSource{.program = "./find", .slots_per_host = 4});
  CHECK(decide({script}).value().hosts.empty());
  CHECK(source_of({flags({{"hostfile", {"hosts"}}})}) == HostSource{.hostfile = "hosts"});
  CHECK(source_of({flags({{"hosts", {"a,@hosts"}}})}) == HostSource());
  // The nearer source of options decides.
  CHECK(source_of({flags({{"hosts", {"a"}}}), script}) == HostSource());
  CHECK(source_of({script, flags({{"hosts", {"a"}}})}).program == "./find");
  // It wins over the hosts of a scheduler, and the agents know the resources of its hosts.
  CHECK(hosts_of(decide_in_job({script})).empty());
  const auto by_gpus = decide({script, flags({{"nproc-per-node", {"gpu"}}})});
  CHECK(by_gpus.value().hosts.empty());
  const Refusal cases[] = {
      {{{"hosts", {"a"}}, {"host-discovery-script", {"./find"}}},
       "-H: conflicts with --host-discovery-script; give one of them"},
      {{{"hostfile", {"hosts"}}, {"host-discovery-script", {"./find"}}},
       "--hostfile: conflicts with --host-discovery-script; give one of them"},
      {{{"host-discovery-script", {""}}}, "--host-discovery-script: expected a program, got \"\""},
      {{{"host-discovery-script", {std::string("a\0b", 3)}}},
       "--host-discovery-script: expected a program, got \"a\\x00b\""},
      {{{"host-discovery-script", {"./find"}}, {"slots-per-host", {"0"}}},
       "--slots-per-host: expected 1..4096, got 0"},
      {{{"host-discovery-script", {"./find"}}, {"slots-per-host", {"4097"}}},
       "--slots-per-host: expected 1..4096, got 4097"},
  };
  expect_refused(cases);
  CHECK(error_of(make_check_config({script}, few_files)) ==
        "--host-discovery-script: only a job runs it; name the hosts: -H HOST,HOST,…");
}

TEST_CASE("without hosts, they are those of the scheduler's job") {
  const std::string slurm = "Slurm job 21 n1:4 n2:4 n3:4";
  CHECK(hosts_of(decide_in_job({flags({})})) == slurm);
  CHECK(hosts_of(decide_in_job({flags({{"allocation", {"slurm"}}})})) == slurm);
  CHECK(hosts_of(decide_in_job({flags({{"np", {"2"}}, {"allocation", {"none"}}})})).empty());
  CHECK(hosts_of(decide_in_job({flags({{"np", {"2"}}})}, {{"DTRAIN_ROLE", "worker"}})).empty());
  CHECK(hosts_of(decide_in_job({flags({{"hosts", {"a:1"}}})})) == "a:1");
  CHECK(hosts_of(decide_in_job({flags({{"hostfile", {"hosts"}}})})) == "a:2 b:2");
  CHECK(hosts_of(decide_in_job({flags({{"cluster-spec", {"worker|h1:1"}}})})).empty());
  CHECK(hosts_of(decide_in_job({flags({{"standalone", {"true"}}})})).empty());
  CHECK(hosts_of(make_check_config({flags({})}, few_files,
                                   {{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a a"}})) == "LSF job 7 a:2");
}

TEST_CASE("the hosts of an LSF job are reached by its own program") {
  const auto program = [](const OptionValues& values) {
    const Environment lsf = {{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a b"}};
    return make_run_config({flags(values)}, {"true"}, few_files, lsf).value().ssh.scheduler_program;
  };
  CHECK(program({}) == "blaunch");
  CHECK(program({{"hosts", {"a:1"}}}).empty());
  CHECK(decide_in_job({flags({})}).value().ssh.scheduler_program.empty());
}

TEST_CASE("--srun-args are words for srun, in a Slurm job") {
  const OptionSource words = flags({{"srun-args", {"--mem=1G --comment='a b'"}}});
  const auto config = decide_in_job({words});
  REQUIRE(config);
  CHECK(config->srun_words == std::vector<std::string>{"--mem=1G", "--comment=a b"});
  CHECK(config->warnings.empty());
  CHECK(make_run_config({words, flags({{"np", {"1"}}})}, {"true"}, few_files).value().warnings ==
        std::vector<std::string>{
            "--srun-args: no effect, since the hosts are not those of a Slurm job"});
  CHECK(error_of(decide_in_job({flags({{"srun-args", {"-N2"}}})})) ==
        "--srun-args: dtrain itself gives srun the option --nodes; leave out -N2");
  CHECK(error_of(decide_in_job({flags({{"srun-args", {"--mem=1G"}}, {"ssh", {"openssh"}}})})) ==
        "--ssh: conflicts with --srun-args; give one of them");
}

TEST_CASE("the tasks of a Slurm job get its variables, unless the user wants none or other hosts") {
  EnvSets all = default_env_sets();
  all.insert(EnvSet::slurm_job);
  const RunConfig config = decide_in_job({flags({})}).value();
  CHECK(config.slurm_job == "21");
  CHECK(config.env_sets == all);
  const auto sets = [](OptionValues values) {
    return decide_in_job({flags(std::move(values))}).value().env_sets;
  };
  CHECK(sets({{"env-set", {"torch"}}}).contains(EnvSet::slurm_job));
  CHECK(sets({{"env-set", {"none"}}}).empty());
  CHECK(sets({{"hosts", {"a:1"}}}) == default_env_sets());
  CHECK(make_run_config({flags({})}, {"true"}, few_files, {{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a"}})
            .value()
            .env_sets == default_env_sets());
}

TEST_CASE("pods are waited for longer than other hosts, unless a time limit is given") {
  using Limits = std::pair<Duration, std::optional<Duration>>;
  const auto limits = [](const OptionValues& values, const Environment& environment) {
    const auto config = make_run_config({flags(values)}, {"true"}, few_files, environment);
    return Limits(config->start_timeout, config->ssh.connect_timeout);
  };
  const Environment mpi_job = {{"HYDRA_HOST_FILE", "hosts"}, {"K_MPI_JOB_ROLE", "launcher"}};
  CHECK(limits({}, mpi_job) == Limits(seconds(300), seconds(270)));
  CHECK(limits({{"start-timeout", {"20s"}}}, mpi_job) == Limits(seconds(20), seconds(18)));
  CHECK(limits({{"connect-timeout", {"3s"}}}, mpi_job) == Limits(seconds(300), seconds(3)));
  const Limits usual(seconds(30), std::nullopt);
  CHECK(limits({{"hosts", {"a:1"}}}, mpi_job) == usual);
  CHECK(limits({{"hostfile", {"hosts"}}}, mpi_job) == usual);
  CHECK(limits({}, {{"LSB_JOBID", "7"}, {"LSB_HOSTS", "a a"}}) == usual);
}

TEST_CASE("a scheduler that is named is a choice of hosts, which the higher source decides") {
  const OptionSource slurm = flags({{"allocation", {"slurm"}}});
  const OptionSource automatic = flags({{"allocation", {"auto"}}});
  const OptionSource list = flags({{"hosts", {"a:1"}}});
  CHECK(hosts_of(decide_in_job({slurm, list})) == "Slurm job 21 n1:4 n2:4 n3:4");
  CHECK(hosts_of(decide_in_job({list, slurm})) == "a:1");
  CHECK(hosts_of(decide_in_job({automatic, list})) == "a:1");
  CHECK(hosts_of(decide_in_job({automatic, list, slurm})) == "a:1");
  CHECK(hosts_of(decide_in_job({automatic, slurm, list})) == "a:1");
  CHECK(hosts_of(decide_in_job({flags({{"allocation", {"slurm"}}, {"hosts", {"a:1"}}})})) ==
        "--allocation: conflicts with -H; give one of them");
  CHECK(hosts_of(decide_in_job({flags({{"allocation", {"slrum"}}})})) ==
        "--allocation: expected auto, none, slurm, lsf, pbs, sge or mpijob, got \"slrum\"; did you "
        "mean slurm?");
  CHECK(error_of(decide({slurm})) ==
        "--allocation: this is not a Slurm job, which would have SLURM_JOB_ID in its environment; "
        "start dtrain in such a job, or leave the option out");
}

TEST_CASE("torchrun's options decide the slots of a Slurm job, whose nodes they must fit") {
  CHECK(hosts_of(decide_in_job({flags({{"nproc-per-node", {"8"}}})})) ==
        "Slurm job 21 n1:8 n2:8 n3:8");
  CHECK(hosts_of(decide_in_job({flags({{"nproc-per-node", {"gpu"}}})})) == "Slurm job 21 n1 n2 n3");
  const auto cpus = decide_in_job({flags({{"nproc-per-node", {"cpu"}}})},
                                  {{"SLURM_NTASKS", "3"}, {"SLURM_TASKS_PER_NODE", "1(x3)"}});
  CHECK(cpus.value().hosts[0].slots_without_gpus == 0);
  CHECK(hosts_of(decide_in_job({flags({{"nnodes", {"3"}}})})) == "Slurm job 21 n1:4 n2:4 n3:4");
  CHECK(hosts_of(decide_in_job({flags({{"nnodes", {"2"}}})})) ==
        "--nnodes: 2, but Slurm job 21 has 3 hosts; name those to use: -H HOST,HOST,…");
}

}  // namespace
}  // namespace dt

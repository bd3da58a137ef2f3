#include "base/format.h"
#include "launcher/config/config.h"
#include "launcher/config/options.h"
#include "launcher/plan.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

using namespace std::string_literals;

/// A source as the command line would give it; origins are the usual spellings.
OptionSource flags(OptionValues values) {
  OptionSource source{std::move(values), {}};
  for (const auto& [name, unused] : source.values) {
    source.origins[name] = std::string(spellings_of(*find_option(name)).front());
  }
  return source;
}

Result<std::string> one_hostfile(const std::string& path) {
  if (path == "hosts") return "a slots=2\n# idle\nb slots=2\n"s;
  if (path == "empty") return ""s;
  if (path == "a.env") return "A=file\nB=\"x\"\n"s;
  if (path == "bad.env") return "A=1\nexport B=2\n"s;
  return fail(Errc::os, "No such file or directory");
}

Result<RunConfig> decide(const std::vector<OptionSource>& sources) {
  return make_run_config(sources, {"true"}, one_hostfile);
}

std::string error_of(const Result<RunConfig>& config) {
  return config ? "accepted" : config.error().message;
}

TEST_CASE("defaults stand where no source names an option") {
  const RunConfig config = decide({flags({{"np", {"2"}}})}).value();
  RunConfig expected;
  expected.roles = workers(2);
  expected.command = {"true"};
  CHECK(config == expected);
}

TEST_CASE("every option reaches its place in the configuration") {
  const RunConfig config = decide({flags({{"np", {"3"}},
                                          {"hosts", {"a:2", "me@b:1"}},
                                          {"oversubscribe", {"true"}},
                                          {"map-by", {"node"}},
                                          {"rank-by", {"slot"}},
                                          {"ppn", {"2"}},
                                          {"bind-to", {"numa"}},
                                          {"gpu-bind", {"rank"}},
                                          {"report-bindings", {"true"}},
                                          {"env", {"A=1=2", "B", "C="}},
                                          {"chdir", {"/x y"}},
                                          {"stdin", {"2"}},
                                          {"timeout", {"2m"}},
                                          {"start-timeout", {"5s"}},
                                          {"grace", {"0"}},
                                          {"heartbeat", {"100ms"}},
                                          {"dead-after", {"1s"}},
                                          {"on-failure", {"continue"}},
                                          {"success", {"role:ps"}},
                                          {"clean", {"all"}},
                                          {"output-dir", {"out"}},
                                          {"no-horovod", {"true"}},
                                          {"env-set", {"none, torch", "jax"}},
                                          {"pass-local-rank", {"true"}},
                                          {"merge-stderr", {"true"}},
                                          {"no-tag", {"true"}},
                                          {"timestamp", {"true"}},
                                          {"color", {"always"}},
                                          {"report", {"r.json"}},
                                          {"quiet", {"1"}},
                                          {"verbose", {"yes"}},
                                          {"dry-run", {"on"}},
                                          {"json", {"true"}}})})
                               .value();
  RunConfig expected;
  expected.roles = workers(3);
  expected.hosts = {{.name = "a", .slots = 2}, {.name = "b", .user = "me", .slots = 1}};
  expected.placement = {.map_by = DealBy::node,
                        .rank_by = DealBy::slot,
                        .per_host = 2,
                        .bind_to = BindTo::numa,
                        .report_bindings = true,
                        .gpu_bind = GpuBind::rank};
  expected.environment = {{"A", "1=2"}, {"B", std::nullopt}, {"C", ""}};
  expected.env_sets = {EnvSet::torch, EnvSet::jax, EnvSet::slurm};
  expected.pass_local_rank = true;
  expected.chdir = "/x y";
  expected.timeout = seconds(120);
  expected.start_timeout = seconds(5);
  expected.grace = seconds(0);
  expected.heartbeat = milliseconds(100);
  expected.dead_after = seconds(1);
  expected.oversubscribe = true;
  expected.continue_on_failure = true;
  expected.success = {.by = SuccessBy::role, .role = "ps", .clean = CleanUp::all};
  expected.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = 2};
  expected.output_dir = "out";
  expected.no_horovod = expected.merge_stderr = expected.timestamp = true;
  expected.color = ColorChoice::always;
  expected.report = "r.json";
  expected.no_tag = expected.quiet = expected.verbose = expected.dry_run = expected.json = true;
  expected.command = {"true"};
  CHECK(config == expected);
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

TEST_CASE("--env-set adds to the default sets, or with none chooses all of them") {
  struct Row {
    std::vector<std::string> words;
    EnvSets sets;
  };
  EnvSets with_slurm = default_env_sets();
  with_slurm.insert(EnvSet::slurm);
  const Row rows[] = {{{"torch"}, default_env_sets()},
                      {{"jax"}, with_slurm},
                      {{"none"}, {}},
                      {{"tf,none"}, {EnvSet::tf}},
                      {{"none", "horovod, ompi"}, {EnvSet::horovod, EnvSet::ompi}}};
  for (const Row& row : rows) {
    CAPTURE(row.words.front());
    CHECK(decide({flags({{"np", {"1"}}, {"env-set", row.words}})}).value().env_sets == row.sets);
  }
  CHECK(error_of(decide({flags({{"np", {"1"}}, {"env-set", {"torch,jaxx"}}})})) ==
        "--env-set: expected none, torch, tf, horovod, jax or ompi, got \"jaxx\"; did you mean "
        "jax?");
  CHECK(error_of(decide({flags({{"np", {"1"}}, {"env-set", {""}}})})) ==
        "--env-set: expected none, torch, tf, horovod, jax or ompi, got \"\"");
}

TEST_CASE("what is said of reaching hosts reaches its place") {
  CHECK(decide({flags({{"np", {"1"}},
                       {"ssh", {"openssh"}},
                       {"ssh-port", {"2222"}},
                       {"ssh-identity-file", {"key"}},
                       {"ssh-config", {"cfg"}},
                       {"ssh-parallel", {"7"}},
                       {"connect-timeout", {"3s"}}})})
            .value()
            .ssh == LoginOptions{.carrier = SshCarrier::openssh,
                                 .port = 2222,
                                 .identity = "key",
                                 .config = "cfg",
                                 .parallel = 7,
                                 .connect_timeout = seconds(3)});
  CHECK(decide({flags({{"np", {"1"}}, {"ssh", {"libssh2"}}})}).value().ssh.carrier ==
        SshCarrier::libssh2);
  CHECK(decide({flags({{"np", {"1"}}, {"rsh-agent", {"qrsh  -inherit"}}})}).value().ssh ==
        LoginOptions{.program = {"qrsh", "-inherit"}});
}

TEST_CASE("ranks are dealt as processes are, unless --rank-by says otherwise") {
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Case {
    Values values;
    DealBy map_by;
    DealBy rank_by;
  };
  const Case cases[] = {
      {{}, DealBy::slot, DealBy::slot},
      {{{"map-by", {"slot"}}}, DealBy::slot, DealBy::slot},
      {{{"map-by", {"node"}}}, DealBy::node, DealBy::node},
      {{{"map-by", {"node"}}, {"rank-by", {"slot"}}}, DealBy::node, DealBy::slot},
      {{{"rank-by", {"node"}}}, DealBy::slot, DealBy::node},
  };
  for (const Case& c : cases) {
    OptionSource source = flags(c.values);
    source.values["np"] = {"1"};
    source.origins["np"] = "-np";
    const PlacementOptions placement = decide({source}).value().placement;
    CHECK(placement.map_by == c.map_by);
    CHECK(placement.rank_by == c.rank_by);
  }
}

TEST_CASE("--ppn says how many processes this machine gets, without -np") {
  const RunConfig config = decide({flags({{"ppn", {"3"}}})}).value();
  CHECK(task_count(config.roles) == 0);
  CHECK(config.placement.per_host == 3);
  CHECK(error_of(decide({flags({{"ppn", {"4097"}}})})) == "--ppn: expected 1..4096, got 4097");
}

TEST_CASE("-x stands behind --env-file, so that it wins over it") {
  const RunConfig config = decide({flags({{"np", {"1"}},
                                          {"env", {"A=typed"}},
                                          {"env-file", {"a.env"}},
                                          {"env-exclude", {"AWS_*"}}})})
                               .value();
  CHECK(config.environment == std::vector<EnvironmentSetting>{{"A", "file", "a.env:1:1"},
                                                              {"B", "\"x\"", "a.env:2:1"},
                                                              {"A", "typed", "-x"}});
  CHECK(config.environment_excluded == std::vector<std::string>{"AWS_*"});
}

TEST_CASE("the first source that names an option wins whole") {
  const OptionSource high = flags({{"np", {"2"}}, {"env", {"A=1"}}, {"quiet", {"false"}}});
  const OptionSource low =
      flags({{"np", {"8"}}, {"env", {"B=2", "C=3"}}, {"quiet", {"true"}}, {"chdir", {"/d"}}});
  const RunConfig config = decide({high, low}).value();
  CHECK(config.roles == workers(2));
  CHECK(config.environment == std::vector<EnvironmentSetting>{{"A", "1"}});
  CHECK(!config.quiet);
  CHECK(config.chdir == "/d");
}

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

struct Refusal {
  OptionValues values;
  std::string message;
};

TEST_CASE("B12, B17, B28 and other values that cannot be are refused, with option and value") {
  const std::string huge = "BIG=" + std::string(131068, 'x');
  const Refusal cases[] = {
      {{}, "-np: missing; without hosts give the number of processes, 1..65536"},
      {{{"np", {"0"}}}, "-np: expected 1..65536, got 0"},
      {{{"np", {"-1"}}}, "-np: expected 1..65536, got \"-1\""},
      {{{"np", {"x"}}}, "-np: expected 1..65536, got \"x\""},
      {{{"np", {""}}}, "-np: expected 1..65536, got \"\""},
      {{{"np", {"65537"}}}, "-np: expected 1..65536, got 65537"},
      {{{"np", {"99999999999999999999"}}}, "-np: expected 1..65536, got 99999999999999999999"},
      {{{"hosts", {"a:0"}}}, "-H: host \"a\": slots must be 1..4096, got 0"},
      {{{"hosts", {"a:1", "b:x"}}}, "-H: host \"b\": slots must be 1..4096, got \"x\""},
      {{{"hostfile", {"none"}}}, "--hostfile: cannot read \"none\": No such file or directory"},
      {{{"hostfile", {""}}}, "--hostfile: expected a file, got \"\""},
      {{{"hostfile", {"empty"}}},
       "empty: no hosts in this file; expected lines such as: node1 slots=4"},
      {{{"np", {"1"}}, {"env", {"=1"}}}, "-x: expected NAME or NAME=VALUE, got \"=1\""},
      {{{"np", {"1"}}, {"env", {""}}}, "-x: expected NAME or NAME=VALUE, got \"\""},
      {{{"np", {"1"}}, {"env", {"A\0=1"s}}}, "-x: \"A\\x00=1\": a variable cannot hold a NUL byte"},
      {{{"np", {"1"}}, {"env", {huge}}},
       "-x: BIG=xxxxxxxx… takes 131072 bytes; a variable can have 131071"},
      {{{"np", {"1"}}, {"env-file", {"bad.env"}}},
       "bad.env:2:7: expected NAME=VALUE without blanks in the name, got \"export B\""},
      {{{"np", {"1"}}, {"env-file", {"a.env", "gone"}}},
       "--env-file: cannot read \"gone\": No such file or directory"},
      {{{"np", {"1"}}, {"env-file", {""}}}, "--env-file: expected a file, got \"\""},
      {{{"np", {"1"}}, {"env-exclude", {""}}},
       "--env-exclude: expected a pattern of names, got \"\""},
      {{{"np", {"1"}}, {"chdir", {""}}}, "--chdir: expected a folder, got \"\""},
      {{{"np", {"1"}}, {"output-dir", {"a\0b"s}}},
       "--output-dir: expected a folder, got \"a\\x00b\""},
      {{{"np", {"1"}}, {"on-failure", {"stop"}}},
       "--on-failure: expected kill or continue, got \"stop\""},
      {{{"np", {"1"}}, {"success", {"workers"}}},
       "--success: expected auto, chief, worker-0, all-workers, all or role:NAME, got \"workers\""},
      {{{"np", {"1"}}, {"success", {"role:"}}},
       "--success: expected a role after role:, got \"role:\""},
      {{{"np", {"1"}}, {"clean", {"some"}}},
       "--clean: expected running, all or none, got \"some\""},
      {{{"np", {"2"}}, {"stdin", {"2"}}}, "--stdin: expected none, all or a rank of 0..1, got 2"},
      {{{"hosts", {"a:2,b:1"}}, {"stdin", {"3"}}},
       "--stdin: expected none, all or a rank of 0..2, got 3"},
      {{{"hosts", {"a,b:1"}}, {"stdin", {"x"}}},
       "--stdin: expected none, all or a rank of 0..65535, got \"x\""},
      {{{"np", {"1"}}, {"timeout", {"0"}}}, "--timeout: expected a time longer than 0, got 0"},
      {{{"np", {"1"}}, {"start-timeout", {"0s"}}},
       "--start-timeout: expected a time longer than 0, got \"0s\""},
      {{{"np", {"1"}}, {"heartbeat", {"0"}}}, "--heartbeat: expected a time longer than 0, got 0"},
      {{{"np", {"1"}}, {"dead-after", {"0"}}},
       "--dead-after: expected a time longer than 0, got 0"},
      {{{"np", {"1"}}, {"grace", {"soon"}}},
       "--grace: expected a duration such as 10, 10s, 500ms or 2m, got 'soon'"},
      {{{"np", {"1"}}, {"heartbeat", {"5s"}}},
       "--heartbeat: the heartbeat (5s) must be shorter than the dead-after time (5s)"},
      {{{"np", {"1"}}, {"dead-after", {"500ms"}}},
       "--dead-after: the heartbeat (1s) must be shorter than the dead-after time (500ms)"},
      {{{"np", {"1"}}, {"ssh", {"rsh"}}}, "--ssh: expected auto, libssh2 or openssh, got \"rsh\""},
      {{{"np", {"1"}}, {"ssh-parallel", {"0"}}}, "--ssh-parallel: expected 1..65536, got 0"},
      {{{"np", {"1"}}, {"rsh-agent", {" "}}}, "--rsh-agent: expected a program, got \" \""},
      {{{"np", {"1"}}, {"rsh-agent", {"rsh"}}, {"ssh-port", {"22"}}},
       "-p: conflicts with --rsh-agent; give one of them"},
      {{{"np", {"1"}}, {"quiet", {"maybe"}}}, "--quiet: expected true or false, got \"maybe\""},
      {{{"np", {"1"}}, {"json", {"true"}}},
       "--json: only --dry-run prints JSON; give both, or neither"},
  };
  for (const Refusal& c : cases) {
    CAPTURE(c.message);
    CHECK(error_of(decide({flags(c.values)})) == c.message);
  }
}

TEST_CASE("B14: without a command the usage and an example are shown") {
  const std::string usage =
      "\nusage: dtrain run -np N [options] [--] command [args]"
      "\nexample: dtrain run -np 4 python train.py";
  const std::vector<OptionSource> sources = {flags({{"np", {"2"}}})};
  CHECK(error_of(make_run_config(sources, {}, one_hostfile)) == "no command given" + usage);
  CHECK(error_of(make_run_config(sources, {""}, one_hostfile)) == "the command is empty" + usage);
}

TEST_CASE("variables named DTRAIN_OPT_ give options; empty ones do not, lists split at blanks") {
  const OptionSource source =
      read_environment_options({"PATH=/bin", "DTRAIN_OPT_NP=4", "DTRAIN_OPT_START_TIMEOUT=5s",
                                "DTRAIN_OPT_CHDIR=", "DTRAIN_OPT_ENV=A=1  B", "DTRAIN_RANK=0"})
          .value();
  CHECK(source.values ==
        OptionValues{{"np", {"4"}}, {"start-timeout", {"5s"}}, {"env", {"A=1", "B"}}});
  CHECK(source.origins.at("np") == "DTRAIN_OPT_NP");
}

TEST_CASE("a variable's fault is named by the variable") {
  const auto source = read_environment_options({"DTRAIN_OPT_NP=x"}).value();
  CHECK(error_of(decide({source})) == "DTRAIN_OPT_NP: expected 1..65536, got \"x\"");
  const auto unknown = [](const char* entry) {
    return read_environment_options({entry}).error().message;
  };
  CHECK(unknown("DTRAIN_OPT_START_TIMOUT=1") ==
        "DTRAIN_OPT_START_TIMOUT: no such option; did you mean DTRAIN_OPT_START_TIMEOUT?");
  CHECK(unknown("DTRAIN_OPT_HELP=1") ==
        "DTRAIN_OPT_HELP: this option belongs on the command line: --help");
  CHECK(unknown("DTRAIN_OPT_ZEBRA=1") == "DTRAIN_OPT_ZEBRA: no such option");
}

}  // namespace
}  // namespace dt

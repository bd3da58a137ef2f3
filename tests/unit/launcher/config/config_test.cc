#include "tests/unit/launcher/config/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

TEST_CASE("options of parameter servers without servers are a warning") {
  const auto warnings = [](const OptionValues& values) {
    return decide({flags(values)}).value().warnings;
  };
  CHECK(warnings({{"np", {"2"}}, {"ps-mode", {"async"}}}) ==
        std::vector<std::string>{
            "--ps-mode: no effect without --role ps=N and --strategy parameter_server"});
  CHECK(warnings({{"role", {"ps=1,worker=2"}}, {"ps-mode", {"async"}}}).empty());
}

TEST_CASE("defaults stand where no source names an option") {
  const RunConfig config = decide({flags({{"np", {"2"}}})}).value();
  RunConfig expected;
  expected.roles = workers(2);
  expected.command = {"true"};
  CHECK(config == expected);
}

TEST_CASE("--gpu-share is set, with a warning") {
  const RunConfig config = decide({flags({{"np", {"3"}}, {"gpu-share", {"true"}}})}).value();
  CHECK(config.placement == PlacementOptions{.gpu_share = true});
  CHECK(config.warnings ==
        std::vector<std::string>{"--gpu-share is for tests: NCCL connects ranks of one GPU by "
                                 "sockets, and speeds mean nothing"});
}

TEST_CASE("every option sets its member of the configuration") {
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
                                          {"deterministic", {"true"}},
                                          {"chdir", {"/x y"}},
                                          {"stdin", {"2"}},
                                          {"timeout", {"2m"}},
                                          {"start-timeout", {"5s"}},
                                          {"grace", {"0"}},
                                          {"heartbeat", {"100ms"}},
                                          {"dead-after", {"1s"}},
                                          {"stall-report", {"2m"}},
                                          {"on-failure", {"continue"}},
                                          {"success", {"role:ps"}},
                                          {"clean", {"all"}},
                                          {"output-dir", {"out"}},
                                          {"result-dir", {"out"}},
                                          {"no-horovod", {"true"}},
                                          {"encrypt-data", {"true"}},
                                          {"env-set", {"none, torch", "jax"}},
                                          {"pass-local-rank", {"true"}},
                                          {"merge-stderr", {"true"}},
                                          {"dump-stacks", {"true"}},
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
  expected.placement = {.map_by = MapBy::node,
                        .rank_by = MapBy::slot,
                        .per_host = 2,
                        .bind_to = BindTo::numa,
                        .report_bindings = true,
                        .gpu_bind = GpuBind::rank};
  expected.environment = {{"A", "1=2"}, {"B", std::nullopt}, {"C", ""}};
  expected.env_sets = {EnvSet::torch, EnvSet::jax, EnvSet::slurm};
  expected.algorithms = "deterministic";
  expected.chdir = "/x y";
  expected.start_timeout = seconds(5);
  expected.grace = seconds(0);
  expected.heartbeat = milliseconds(100);
  expected.dead_after = expected.local_dead_after = seconds(1);
  expected.timeout = expected.stall_report = seconds(120);
  expected.oversubscribe = expected.continue_on_failure = expected.pass_local_rank = true;
  expected.success = {.by = SuccessBy::role, .role = "ps", .clean = CleanUp::all};
  expected.stdin_target = {.kind = StdinTarget::Kind::rank, .rank = 2};
  expected.output_dir = expected.result_dir = "out";
  expected.no_horovod = expected.encrypt_data = expected.merge_stderr = expected.timestamp = true;
  expected.color = ColorChoice::always;
  expected.report = "r.json";
  expected.dump_stacks = expected.no_tag = expected.quiet = expected.verbose = expected.dry_run =
      expected.json = true;
  expected.command = {"true"};
  CHECK(config == expected);
}

TEST_CASE("the strategy and its options set their members") {
  const RunConfig config = decide({flags({{"np", {"3"}},
                                          {"strategy", {"multi_worker_mirrored"}},
                                          {"devices", {"0,1"}},
                                          {"cross-device-op", {"AllReduce:2"}},
                                          {"communication", {"ring"}},
                                          {"soft-placement", {"true"}},
                                          {"log-placement", {"true"}},
                                          {"bytes-per-pack", {"4M"}},
                                          {"device-memory", {"1G"}},
                                          {"strategy-timeout", {"1.5s"}},
                                          {"ps-mode", {"sync:2"}},
                                          {"ps-replicas", {"2"}}})})
                               .value();
  CHECK(config.strategy == StrategyName::multi_worker_mirrored);
  CHECK(config.devices == "0,1");
  CHECK(config.cross_device_op == "AllReduce:2");
  CHECK(config.soft_placement);
  CHECK(config.log_placement);
  CHECK(config.communication == Communication::ring);
  CHECK(config.algorithms == "ring");
  CHECK(config.bytes_per_pack == 4 << 20);
  CHECK(config.device_memory == 1 << 30);
  CHECK(config.strategy_timeout == milliseconds(1500));
  CHECK(config.ps_mode == ServerMode{ServerMode::Kind::sync, 2});
  CHECK(config.ps_replicas == 2);
  CHECK(config.success.servers_replicated);
}

TEST_CASE("servers that do not need all workers let one be the least number of them") {
  const auto least = [](const char* strategy, const char* mode) {
    return decide({flags({{"role", {"ps=1", "worker=3"}},
                          {"strategy", {strategy}},
                          {"ps-mode", {mode}}})})
        .value()
        .success.workers_min;
  };
  CHECK(least("parameter_server", "async") == 1);
  CHECK(least("parameter_server", "sync:2") == 1);
  CHECK(least("parameter_server", "bounded:2") == 1);
  CHECK(least("parameter_server", "sync") == 0);
  CHECK(least("parameter_server", "local-async") == 0);
  CHECK(least("multi_worker_mirrored", "async") == 0);
  CHECK(decide({flags({{"np", {"3"}}, {"min-workers", {"2"}}})}).value().success.workers_min == 2);
  CHECK(decide({flags({{"np", {"3"}}, {"min-workers", {"0"}}})}).error().message ==
        "--min-workers: expected 1..65536, got 0");
}

TEST_CASE("the transport of libdtrain is one of three words") {
  CHECK(decide({flags({{"np", {"2"}}})}).value().transport == "auto");
  CHECK(decide({flags({{"np", {"2"}}, {"transport", {"tcp"}}})}).value().transport == "tcp");
  CHECK(!decide({flags({{"np", {"2"}}, {"transport", {"rdma"}}})}).has_value());
}

TEST_CASE("the first source that names an option wins, but lists of variables add up") {
  const OptionSource high = flags({{"np", {"2"}}, {"env", {"A=1"}}, {"quiet", {"false"}}});
  const OptionSource low =
      flags({{"np", {"8"}}, {"env", {"A=2", "C=3"}}, {"quiet", {"true"}}, {"chdir", {"/d"}}});
  const RunConfig config = decide({high, low}).value();
  CHECK(config.roles == workers(2));
  CHECK(config.environment == std::vector<EnvironmentSetting>{{"C", "3"}, {"A", "1"}});
  CHECK(!config.quiet);
  CHECK(config.chdir == "/d");
}

TEST_CASE("B12 and other invalid values are refused, with option and value") {
  const Refusal cases[] = {
      {{}, "-np: missing; without hosts give the number of processes, 1..65536"},
      {{{"np", {"0"}}}, "-np: expected 1..65536, got 0"},
      {{{"np", {"-1"}}}, "-np: expected 1..65536, got \"-1\""},
      {{{"np", {"x"}}}, "-np: expected 1..65536, got \"x\""},
      {{{"np", {""}}}, "-np: expected 1..65536, got \"\""},
      {{{"np", {"65537"}}}, "-np: expected 1..65536, got 65537"},
      {{{"np", {"99999999999999999999"}}}, "-np: expected 1..65536, got 99999999999999999999"},
      {{{"np", {"1"}}, {"strategy", {"mirored"}}},
       "--strategy: no strategy \"mirored\"; did you mean mirrored?"},
      {{{"np", {"1"}}, {"devices", {""}}}, "--devices: expected names of devices, got \"\""},
      {{{"np", {"1"}}, {"cross-device-op", {"AllReduce:-1"}}},
       "--cross-device-op: AllReduce: expected 0..1024 packs behind the colon, got \"-1\""},
      {{{"np", {"1"}}, {"bytes-per-pack", {"0"}}},
       "--bytes-per-pack: expected a size from 1, such as 65536, 64K or 4M, got 0"},
      {{{"np", {"1"}}, {"strategy-timeout", {"1000h"}}},
       "--strategy-timeout: expected at most 2147483647ms, got \"1000h\""},
      {{{"np", {"1"}}, {"ps-mode", {"fast"}}},
       "--ps-mode: no mode of parameter servers \"fast\"; they are sync, sync:N with N workers in "
       "each step, async, local-async, and bounded:N with N pushes of staleness"},
      {{{"np", {"1"}}, {"ps-replicas", {"3"}}}, "--ps-replicas: expected 1..2, got 3"},
      {{{"np", {"1"}}, {"ps-replicas", {"two"}}}, "--ps-replicas: expected 1..2, got \"two\""},
      {{{"np", {"1"}}, {"algorithms", {""}}},
       "--algorithms: expected a table of algorithms, got \"\""},
      {{{"np", {"1"}}, {"chdir", {""}}}, "--chdir: expected a folder, got \"\""},
      {{{"np", {"1"}}, {"output-dir", {"a\0b"s}}},
       "--output-dir: expected a folder, got \"a\\x00b\""},
      {{{"np", {"1"}}, {"on-failure", {"stop"}}},
       "--on-failure: expected kill or continue, got \"stop\""},
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
       "--grace: expected a duration such as 10, 10s, 500ms, 2m, 1h30m or 00:05:00, got 'soon'"},
      {{{"np", {"1"}}, {"heartbeat", {"5s"}}},
       "--heartbeat: the heartbeat (5s) must be shorter than the dead-after time (5s)"},
      {{{"np", {"1"}}, {"dead-after", {"500ms"}}},
       "--dead-after: the heartbeat (1s) must be shorter than the dead-after time (500ms)"},
      {{{"np", {"1"}}, {"quiet", {"maybe"}}}, "--quiet: expected true or false, got \"maybe\""},
      {{{"np", {"1"}}, {"json", {"true"}}},
       "--json: only --dry-run prints JSON; give both, or neither"},
  };
  expect_refused(cases);
}

TEST_CASE("B14: without a command the usage and an example are shown") {
  const std::string usage =
      "\nusage: dtrain run -np N [options] [--] command [args]"
      "\nexample: dtrain run -np 4 python train.py";
  const OptionSources sources = {flags({{"np", {"2"}}})};
  CHECK(error_of(make_run_config(sources, {}, few_files)) == "no command given" + usage);
  CHECK(error_of(make_run_config(sources, {""}, few_files)) == "the command is empty" + usage);
}

}  // namespace
}  // namespace dt

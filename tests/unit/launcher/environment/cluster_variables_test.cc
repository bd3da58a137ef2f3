#include "launcher/environment/cluster_variables.h"

#include "launcher/agent/task_macros.h"
#include "rendezvous/cluster/cluster_text.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// A ps and two workers on one host.
Plan sample_plan() {
  Plan plan;
  plan.hosts = {{.host = {.name = "a", .slots = 3}}};
  plan.world_size = 2;
  plan.roles = {{.name = "worker", .count = 2}, {.name = "ps", .count = 1, .ranked = false}};
  plan.add({.id = {"worker", 0}, .rank = 0, .local_rank = 0});
  plan.add({.id = {"worker", 1}, .rank = 1, .local_rank = 1});
  plan.add({.id = {"ps", 0}});
  return plan;
}

const JobFacts sample_facts = {
    .job = "kxnd",
    .master_address = "10.0.0.1",
    .master_port = 29500,
    .cluster = {{{"ps", {{0, "a:3"}}}, {"worker", {{0, "a:1"}, {1, "a:2"}}}}}};

RunConfig running(std::vector<std::string> command) {
  RunConfig config;
  config.command = std::move(command);
  return config;
}

Launch launch_of(const RunConfig& config) {
  Launch launch;
  for (const EnvironmentSetting& setting : config.environment)
    launch.forwarded[setting.name] = setting.value.value_or("{role} of the environment");
  REQUIRE(add_cluster_variables(launch, config, sample_plan(), sample_facts));
  return launch;
}

TEST_CASE("macros in the command and in the user's values are expanded for each task") {
  RunConfig config = running({"{role}", "--id={rank}", "{hosts:worker}", "{\"rank\": 1}"});
  config.environment = {{"A", "{role}-{index}"}, {"B", "{host}:{port}"}, {"C", std::nullopt}};
  const Launch launch = launch_of(config);
  const TaskLaunch task = {.id = {"worker", 1}, .rank = 1, .local_rank = 1};
  CHECK(command_of_task(config.command, launch, task) ==
        std::vector<std::string>{"{role}", "--id=1", "a:1,a:2", "{\"rank\": 1}"});
  CHECK(forwarded_of_task(launch, task) ==
        Environment{{"A", "worker-1"}, {"B", "a:2"}, {"C", "{role} of the environment"}});
}

TEST_CASE("code in the command keeps its braces, without errors and warnings") {
  const RunConfig config =
      running({"bash", "-c", "{rank}", "echo {hosts:none} {wrank}", "${host}", "{index}"});
  CHECK(check_cluster_variables(config, sample_plan()).value().empty());
  const Launch launch = launch_of(config);
  CHECK(command_of_task(config.command, launch, {.id = {"worker", 1}, .rank = 1}) ==
        std::vector<std::string>{"bash", "-c", "{rank}", "echo {hosts:none} {wrank}", "${host}",
                                 "1"});
  CHECK(macro_growth_max(running({"bash", "-c", "{cluster_spec}"}), sample_plan()) == 0);
}

TEST_CASE("a role has its own command and values") {
  Plan plan = sample_plan();
  plan.roles[1].command = {"serve", "--at={host}:{port}"};
  plan.roles[1].environment = {{"A", "{role}"}, {"B", "plain"}};
  RunConfig config = running({"train", "{rank}"});
  config.environment = {{"B", "{rank}"}};
  Launch launch = {.forwarded = {{"A", "{role}"}, {"B", "{rank}"}},
                   .role_environments = {{"ps", plan.roles[1].environment}}};
  REQUIRE(check_cluster_variables(config, plan).value().empty());
  REQUIRE(add_cluster_variables(launch, config, plan, sample_facts));
  const TaskLaunch ps = {.id = {"ps", 0}};
  const TaskLaunch worker = {.id = {"worker", 1}, .rank = 1, .local_rank = 1};
  CHECK(command_of_task(plan.roles[1].command, launch, ps) ==
        std::vector<std::string>{"serve", "--at=a:3"});
  CHECK(forwarded_of_task(launch, ps) == Environment{{"A", "ps"}, {"B", "plain"}});
  CHECK(forwarded_of_task(launch, worker) == Environment{{"A", "{role}"}, {"B", "1"}});
}

TEST_CASE("a job whose roles all have commands has none of its own") {
  Plan plan = sample_plan();
  for (Role& role : plan.roles)
    role.command = {"x", "{index}"};
  const RunConfig config;
  CHECK(check_cluster_variables(config, plan));
  CHECK(macro_growth_max(config, plan) > 0);
  plan.roles[1].environment = {{"A", "{hosts:chief}"}};
  CHECK(check_cluster_variables(config, plan)
            .error()
            .message.starts_with("--role-env: ps: A: {hosts:chief}: the job has no role chief"));
}

TEST_CASE("the last setting of a name counts") {
  RunConfig config = running({"x"});
  config.environment = {{"A", "{role}"}, {"A", std::nullopt}};
  CHECK_FALSE(launch_of(config).macros.has_value());
}

TEST_CASE("without macros the message to agents has no values for them") {
  RunConfig config = running({"x", "{lr}"});
  CHECK_FALSE(launch_of(config).macros.has_value());
  config = running({"x", "{role}"});
  CHECK(launch_of(config).macros.has_value());
  config.no_macros = true;
  const Launch launch = launch_of(config);
  CHECK_FALSE(launch.macros.has_value());
  CHECK(command_of_task(config.command, launch, {.id = {"worker", 0}, .rank = 0}) ==
        config.command);
  CHECK(macro_growth_max(config, sample_plan()) == 0);
}

TEST_CASE("a cluster too long for TF_CONFIG is sent only if a task needs a part of it") {
  Plan plan;
  plan.hosts = {{.host = {.name = "a", .slots = 8000}}};
  plan.roles = workers(8000);
  JobFacts facts = sample_facts;
  for (int i = 0; i < 8000; ++i) {
    plan.add({.id = {"worker", i}, .rank = i, .local_rank = i});
    facts.cluster.jobs["worker"][i] = "10.100.100.100:" + std::to_string(20000 + i);
  }
  Launch launch;
  REQUIRE(add_cluster_variables(launch, running({"x"}), plan, facts));
  CHECK_FALSE(launch.tf_config);
  CHECK(launch.cluster == ClusterSpec());

  RunConfig filtered = running({"x"});
  filtered.cluster_filter = ClusterFilter::ps;
  REQUIRE(add_cluster_variables(launch, filtered, plan, facts));
  CHECK(launch.tf_config);
  CHECK(launch.cluster == facts.cluster);

  REQUIRE(add_cluster_variables(launch, running({"x", "{port}"}), plan, facts));
  CHECK_FALSE(launch.tf_config);
  CHECK(launch.cluster == facts.cluster);

  const auto too_long =
      add_cluster_variables(launch, running({"x", "{hosts:worker}"}), plan, facts);
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().code == Errc::input);
  CHECK(too_long.error().message.starts_with("the command's word '{hosts:worker}' becomes "));
}

TEST_CASE("the growth by macros is bounded before ports are known") {
  const Plan plan = sample_plan();
  CHECK(macro_growth_max(running({"x", "y"}), plan) == 0);
  CHECK(macro_growth_max(running({}), plan) == 0);
  const uint64_t growth = macro_growth_max(running({"x", "{cluster_spec}"}), plan);
  CHECK(growth >= cluster_text(sample_facts.cluster).size());
  CHECK(growth < 1024);
}

TEST_CASE("macros for roles that the job lacks are refused, with the place of the text") {
  struct Case {
    RunConfig config;
    const char* message;
  };
  RunConfig with_setting = running({"x"});
  with_setting.environment = {{"A", "{hosts:chief}", "job.env:3"}};
  RunConfig filtered = running({"x"});
  filtered.cluster_filter = ClusterFilter::ps;
  const Case cases[] = {
      {running({"x", "--ps={hosts:pss}"}),
       "the command's word '--ps={hosts:pss}': {hosts:pss}: the job has no role pss; it has ps, "
       "worker (--no-macros leaves braces as they are)"},
      {running({"x", "{rank}"}),
       "the command's word '{rank}': {rank}: tasks of role ps have no rank; {index} they have "
       "(--no-macros leaves braces as they are)"},
      {with_setting,
       "job.env:3: A: {hosts:chief}: the job has no role chief; it has ps, worker (--no-macros "
       "leaves braces as they are)"},
      {running({"./{role}.sh"}),
       "the command './{role}.sh' has a macro in its first word, which names the file that all "
       "hosts look for; use --role-command, or --no-macros if it is meant so"}};
  for (const Case& c : cases) {
    const auto checked = check_cluster_variables(c.config, sample_plan());
    REQUIRE_FALSE(checked);
    CHECK(checked.error() == Error{Errc::input, c.message});
    RunConfig off = c.config;
    off.no_macros = true;
    CHECK(check_cluster_variables(off, sample_plan()));
  }
  CHECK(check_cluster_variables(filtered, sample_plan()));
  Plan workers = sample_plan();
  workers.roles.pop_back();
  CHECK(check_cluster_variables(filtered, workers).error().message ==
        "--cluster-filter ps: the job has no ps, and its workers would not see each other");
}

TEST_CASE("texts that are nearly macros are reported in one line") {
  CHECK(
      check_cluster_variables(running({"x", "{roles}", "{lr}", "{indx}"}), sample_plan()).value() ==
      std::vector<std::string>{"no such macros: {roles} ({role}?), {indx} ({index}?); they stay as "
                               "they are (--no-macros turns this off)"});
  CHECK(check_cluster_variables(running({"x", "{role}"}), sample_plan()).value().empty());
}

/// The plan of worker 1, in a cluster whose other tasks other launchers start.
Plan part_of_sample() {
  Plan plan = sample_plan();
  plan.tasks.clear();
  plan.hosts.front().tasks.clear();
  plan.add({.id = {"worker", 1}, .rank = 1, .local_rank = 0});
  plan.external_layout = {.cluster = sample_facts.cluster, .tasks_elsewhere = 2};
  return plan;
}

TEST_CASE("the user's TF_CONFIG is forwarded unchanged, unless the tf set is left out") {
  RunConfig config = running({"train"});
  config.external_cluster = {
      .cluster = {}, .tf_config = R"({"x": 1, "cluster": {"worker": ["a:1", "a:2"], "ps": ["a:3"]},
                                      "task": {"type": "worker", "index": 1}})"};
  JobFacts facts = sample_facts;
  Launch launch;
  REQUIRE(add_cluster_variables(launch, config, part_of_sample(), facts));
  CHECK_FALSE(launch.tf_config);
  CHECK(launch.common == Environment{{"TF_CONFIG", config.external_cluster->tf_config}});
  facts.env_sets = {};
  launch = {};
  REQUIRE(add_cluster_variables(launch, config, part_of_sample(), facts));
  CHECK(launch.common.empty());
}

TEST_CASE(
    "macros speak of the whole cluster, and only roles that are here need what they ask for") {
  const Plan part = part_of_sample();
  CHECK(check_cluster_variables(running({"train", "{rank}", "{hosts:ps}"}), part));
  CHECK_FALSE(check_cluster_variables(running({"train", "{rank}"}), sample_plan()));
  CHECK_FALSE(check_cluster_variables(running({"train", "{hosts:chief}"}), part));
}

TEST_CASE("a list of addresses that would hide a hole in the cluster is refused") {
  Plan part = part_of_sample();
  part.external_layout->cluster.jobs["ps"] = {{2, "a:3"}};
  CHECK(check_cluster_variables(running({"train", "{host}:{port}"}), part));
  CHECK(check_cluster_variables(running({"train", "{hosts:worker}"}), part).error().message ==
        "the command's word '{hosts:worker}': the cluster has not every ps up to ps:2, which its "
        "list of addresses would hide; TF_CONFIG tells it");
}

TEST_CASE("the bound of macro growth includes long names in the user's addresses") {
  Plan part = part_of_sample();
  const uint64_t before = macro_growth_max(running({"train", "{hosts:ps}"}), part);
  part.external_layout->cluster.jobs["ps"][0] = std::string(200, 'a') + ":1";
  CHECK(macro_growth_max(running({"train", "{hosts:ps}"}), part) >= before + 140);
}

}  // namespace
}  // namespace dt

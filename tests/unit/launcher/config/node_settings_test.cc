#include "launcher/config/host_options.h"
#include "tests/unit/launcher/config/fixture.h"
#include "tests/unit/temporary_folder.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace dt {
namespace {

const std::string node_secret(64, 'a');

/// A source of torchrun's variables, as torchrun_variables() makes it.
OptionSource pet_source(OptionValues values) {
  OptionSource source{std::move(values), {}};
  for (const auto& [name, unused] : source.values) {
    std::string variable = "PET_";
    for (const char c : name)
      variable += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
    source.origins[name] = variable;
  }
  return source;
}

Result<RunConfig> decide_node(const OptionSources& sources, Environment environment = {}) {
  environment.emplace("DTRAIN_NODES_TOKEN", node_secret);
  return make_run_config(sources, {"true"}, few_files, environment);
}

std::string hosts_text(const RunConfig& config) {
  std::string text;
  for (const Host& host : config.hosts) {
    text += text.empty() ? "" : ", ";
    text += host.name + ":" + std::to_string(host.slots);
  }
  return text;
}

/// Returns "node 1 of 2..4 (PET_NODE_RANK) at n0:29500", or the error.
std::string node_text(const Result<RunConfig>& config) {
  if (!config) return config.error().message;
  if (!config->nodes) return "no nodes";
  const NodeOptions& nodes = *config->nodes;
  std::string text = "node " + (nodes.rank ? std::to_string(*nodes.rank) : "?") + " of ";
  if (nodes.least != nodes.count) text += std::to_string(nodes.least) + "..";
  text += std::to_string(nodes.count);
  if (!nodes.rank_origin.empty()) text += " (" + nodes.rank_origin + ")";
  if (nodes.order) text += " (order " + std::to_string(*nodes.order) + ")";
  return text + " at " + nodes.master + ":" + std::to_string(nodes.port);
}

TEST_CASE("a job of nodes: the count, a rank, an address, a token, and a process on each node") {
  const auto config = decide_node({flags(
      {{"nnodes", {"3"}}, {"node-rank", {"1"}}, {"master-addr", {"n0"}}, {"rdzv-id", {"job-7"}}})});
  REQUIRE(config);
  CHECK(node_text(config) == "node 1 of 3 (--node-rank) at n0:29500");
  CHECK(config->nodes->id == "job-7");
  CHECK(config->nodes->processes.empty());
  CHECK(config->nodes->token == Token::parse(node_secret).value());
  CHECK(hosts_text(*config) == "localhost:1, node 1:1, node 2:1");
  CHECK(config->placement.per_host == 1);
  CHECK(config->start_timeout == seconds(30));
  CHECK_FALSE(config->restarts.size);
}

TEST_CASE("a job of nodes: ranks and addresses of all sources") {
  struct Case {
    OptionSources sources;
    std::string text;
    Environment environment = {};
  };
  const OptionValues two = {{"nnodes", {"2"}}, {"node-rank", {"1"}}};
  const auto with = [&](OptionValues more) {
    more.insert(two.begin(), two.end());
    return flags(std::move(more));
  };
  const Environment step = {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NUM_NODES", "2"},
                            {"SLURM_JOB_ID", "21"},        {"SLURM_JOB_NODELIST", "n[1-2]"},
                            {"SLURM_NODEID", "1"},         {"SLURM_PROCID", "1"}};
  const OptionValues c10d = {
      {"nnodes", {"2"}}, {"rdzv-backend", {"c10d"}}, {"rdzv-endpoint", {"n0"}}};
  const Case cases[] = {
      {{with({{"master-addr", {"n0"}}, {"master-port", {"1234"}}})},
       "node 1 of 2 (--node-rank) at n0:1234"},
      {{with({{"rdzv-endpoint", {"[fd00::1]:77"}}})}, "node 1 of 2 (--node-rank) at fd00::1:77"},
      {{with({{"rdzv-endpoint", {"n0"}}, {"rdzv-backend", {"static"}}})},
       "node 1 of 2 (--node-rank) at n0:29500"},
      {{with({{"rdzv-endpoint", {"n0"}}, {"master-addr", {"n0"}}, {"master-port", {"5"}}})},
       "node 1 of 2 (--node-rank) at n0:5"},
      {{flags(c10d)}, "node ? of 2 at n0:29400"},
      {{flags(c10d)}, "node ? of 2 (order 1) at n0:29400", step},
      {{flags(c10d)}, "node ? of 2 at n0:29400", {{"SLURM_NODEID", "1"}}},
      {{flags(c10d), pet_source({{"node-rank", {"0"}}})},
       "node 0 of 2 (PET_NODE_RANK) at n0:29400",
       step},
      {{flags({{"nnodes", {"2:4"}}, {"node-rank", {"3"}}, {"master-addr", {"n0"}}})},
       "node 3 of 2..4 (--node-rank) at n0:29500"},
      {{flags({{"nnodes", {"2"}}, {"node-rank", {"env:INDEX"}}, {"master-addr", {"n0"}}})},
       "node 1 of 2 (INDEX) at n0:29500",
       {{"INDEX", "1"}}},
      {{pet_source({{"nnodes", {"2"}},
                    {"node-rank", {"0"}},
                    {"master-addr", {"n0"}},
                    {"master-port", {"29400"}}})},
       "node 0 of 2 (PET_NODE_RANK) at n0:29400"},
      {{flags({{"nnodes", {"2"}}, {"master-addr", {"n0"}}})},
       "node 1 of 2 (SLURM_NODEID) at n0:29500",
       step}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto config = decide_node(c.sources, c.environment);
    CHECK(node_text(config) == c.text);
    if (config) CHECK(config->allocation.empty());
  }
}

TEST_CASE("a job of nodes: its processes are counted, or found by each node") {
  const OptionValues base = {{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}};
  struct Case {
    OptionValues more;
    std::optional<int> per_host;
    std::string hosts;
    std::string processes = {};
  };
  const Case cases[] = {
      {{{"nproc-per-node", {"4"}}}, 4, "localhost:4, node 1:4", "4"},
      {{{"nproc-per-node", {"gpu"}}}, std::nullopt, "localhost:0, node 1:0", "gpu"},
      {{{"ppn", {"2"}}}, 2, "localhost:2, node 1:2"},
      {{{"np", {"8"}}}, std::nullopt, "localhost:0, node 1:0"},
      {{{"np", {"8"}}, {"nproc-per-node", {"4"}}}, 4, "localhost:4, node 1:4", "4"}};
  for (const Case& c : cases) {
    CAPTURE(c.hosts);
    OptionValues values = base;
    values.insert(c.more.begin(), c.more.end());
    const auto config = decide_node({flags(values)});
    REQUIRE(config);
    CHECK(config->placement.per_host == c.per_host);
    CHECK(hosts_text(*config) == c.hosts);
    CHECK(config->nodes->processes == c.processes);
  }
}

TEST_CASE("a job of nodes: MIN:MAX is the size of the job, and pods wait for 300 s") {
  OptionValues values = {
      {"nnodes", {"2:3"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}, {"ppn", {"2"}}};
  const Environment pod = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}};
  const auto config = decide_node({flags(values)}, pod);
  REQUIRE(config);
  REQUIRE(config->restarts.size);
  CHECK(config->restarts.size->hosts_min == 2);
  CHECK(config->restarts.size->hosts_max == 3);
  CHECK(config->start_timeout == seconds(300));
  values["start-timeout"] = {"20s"};
  CHECK(decide_node({flags(values)}, pod)->start_timeout == seconds(20));
}

TEST_CASE("no job of nodes: named hosts, a cluster, one node, or nothing of other nodes") {
  const OptionSources cases[] = {
      {flags({{"nnodes", {"2"}}, {"hosts", {"a,b"}}, {"master-addr", {"a"}}})},
      {flags({{"nnodes", {"2"}}, {"hostfile", {"hosts"}}, {"rdzv-backend", {"etcd"}}})},
      {flags({{"nnodes", {"2"}}, {"host-discovery-script", {"./h"}}})},
      {flags({{"nnodes", {"1"}}, {"node-rank", {"0"}}, {"np", {"2"}}, {"rdzv-endpoint", {"?"}}})},
      {flags({{"nnodes", {"1:4"}}, {"nproc-per-node", {"2"}}})},
      {flags({{"nnodes", {"1:4"}}, {"standalone", {"true"}}, {"master-addr", {"n0"}}})}};
  for (const OptionSources& sources : cases)
    CHECK(node_text(decide_node(sources)) == "no nodes");
  const Environment batch = {{"SLURM_JOB_ID", "21"},
                             {"SLURM_JOB_NODELIST", "n[1-2]"},
                             {"SLURM_TASKS_PER_NODE", "1(x2)"},
                             {"SLURM_NODEID", "0"}};
  const auto in_batch = decide_node({flags({{"nnodes", {"2"}}, {"rdzv-endpoint", {"n1"}}})}, batch);
  CHECK(node_text(in_batch) == "no nodes");
  REQUIRE(in_batch);
  CHECK(in_batch->allocation == "Slurm job 21");
}

struct NodeRefusal {
  OptionValues values;
  std::string begins;  ///< of the message
  Environment environment = {};
};

void expect_nodes_refused(std::span<const NodeRefusal> cases) {
  for (const NodeRefusal& c : cases) {
    CAPTURE(c.begins);
    const std::string message = error_of(decide_node({flags(c.values)}, c.environment));
    CHECK(message.substr(0, c.begins.size()) == c.begins);
    CHECK(message.find(node_secret) == std::string::npos);
  }
}

TEST_CASE("a job of nodes: wrong ranks and addresses are named") {
  const NodeRefusal cases[] = {
      {{{"nnodes", {"2"}}, {"node-rank", {"0"}}},
       "--nnodes: 2 nodes, but neither their hosts nor the address of node 0 are given. Start "
       "dtrain run once with -H HOST,HOST,…, or on each node with --node-rank K and "
       "--master-addr HOST"},
      {{{"nnodes", {"2"}}, {"master-addr", {"n0"}}},
       "--nnodes: 2 nodes, but the rank of this one is missing: give --node-rank K of 0..1, or set "
       "PET_NODE_RANK; srun with a task on each node sets SLURM_NODEID"},
      {{{"nnodes", {"2"}}, {"master-addr", {"n0"}}, {"rdzv-backend", {"static"}}},
       "--nnodes: 2 nodes, but the rank",
       {{"SLURM_NODEID", "1"}}},
      {{{"nnodes", {"2"}}, {"node-rank", {"2"}}, {"master-addr", {"n0"}}},
       "--node-rank: expected the rank of this node, 0..1 of 2 nodes, got \"2\""},
      {{{"nnodes", {"2"}}, {"node-rank", {"-1"}}, {"master-addr", {"n0"}}},
       "--node-rank: expected the rank"},
      {{{"nnodes", {"2"}}, {"node-rank", {"env:INDEX"}}, {"master-addr", {"n0"}}},
       "--node-rank: the variable INDEX is not in the environment; set it to the rank of this "
       "node, "
       "or give the number"},
      {{{"nnodes", {"2"}}, {"node-rank", {"env:INDEX"}}, {"master-addr", {"n0"}}},
       "--node-rank: the variable INDEX is empty; set it",
       {{"INDEX", ""}}},
      {{{"nnodes", {"2"}}, {"node-rank", {"env:"}}, {"master-addr", {"n0"}}},
       "--node-rank: expected env:NAME with the name of a variable, got \"env:\""},
      {{{"nnodes", {"2"}}, {"node-rank", {"env:INDEX"}}, {"master-addr", {"n0"}}},
       "INDEX: expected the rank of this node, 0..1 of 2 nodes, got \"two\"",
       {{"INDEX", "two"}}},
      {{{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"rdzv-endpoint", {"n0:x"}}},
       "--rdzv-endpoint: expected a port of 1..65535, got \"x\""},
      {{{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0:29500"}}},
       "--master-addr: expected a host name or an address, got \"n0:29500\""},
      {{{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}, {"master-port", {"0"}}},
       "--master-port: expected 1..65535, got 0"},
      {{{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}, {"master-port", {"abc"}}},
       "--master-port: expected 1..65535, got \"abc\""},
      {{{"np", {"2"}}, {"master-port", {"abc"}}}, "--master-port: expected 0..65535, got \"abc\""},
      {{{"nnodes", {"2"}}, {"master-addr", {"n0"}}, {"rdzv-endpoint", {"n1:5"}}},
       "--rdzv-endpoint: n1:5, but --master-addr is n0; give the same, or leave one of them out"},
      {{{"nnodes", {"2"}}, {"master-port", {"6"}}, {"rdzv-endpoint", {"n1:5"}}},
       "--rdzv-endpoint: n1:5, but --master-port is 6; "},
      {{{"nnodes", {"2"}}, {"rdzv-backend", {"etcd"}}, {"rdzv-endpoint", {"n1:5"}}},
       "--rdzv-backend: expected static or c10d in a job of several nodes, got \"etcd\""},
      {{{"nnodes", {"1"}}, {"node-rank", {"1"}}, {"np", {"1"}}},
       "--node-rank: a job on one node has the rank 0 alone, not 1; "},
      {{{"hosts", {"a,b"}}, {"node-rank", {"0"}}},
       "--node-rank: the hosts are named, so dtrain is started once"}};
  expect_nodes_refused(cases);
  CHECK(node_text(decide_node({pet_source({{"nnodes", {"two"}}})}))
            .starts_with("PET_NNODES: expected 1..65536 hosts"));
  CHECK(node_text(decide_node({flags({{"master-addr", {"n0"}}}),
                               pet_source({{"nnodes", {"2"}}, {"node-rank", {"2"}}})}))
            .starts_with("PET_NODE_RANK: expected the rank of this node, 0..1"));
}

TEST_CASE("a job of nodes: options that it cannot have are named") {
  const OptionValues base = {{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}};
  NodeRefusal cases[] = {
      {{{"role", {"worker=1", "ps=1"}}}, "--role: a job of nodes has workers only"},
      {{{"env", {"DTRAIN_NODES_TOKEN"}}}, "-x: DTRAIN_NODES_TOKEN is the secret of the nodes"},
      {{{"sync", {"true"}}}, "--sync: the nodes of a job start by themselves"},
      {{{"setup", {"make"}}}, "--setup: "},
      {{{"spare", {"a"}}, {"max-restarts", {"1"}}}, "--spare: "},
      {{{"cluster-spec", {"worker|h1:1"}}},
       "--nnodes: --cluster-spec already has the hosts; leave one of them out"}};
  for (NodeRefusal& c : cases)
    c.values.insert(base.begin(), base.end());
  expect_nodes_refused(cases);
}

TEST_CASE("a job of nodes: a command of its role is the node's own, as any command is") {
  const OptionValues values = {{"nnodes", {"2"}},
                               {"node-rank", {"1"}},
                               {"master-addr", {"n0"}},
                               {"role-command", {"worker=train --lr 1"}}};
  const auto config =
      make_run_config({flags(values)}, {}, few_files, {{"DTRAIN_NODES_TOKEN", node_secret}});
  REQUIRE(config);
  CHECK(config->command == std::vector<std::string>{"train", "--lr", "1"});
  CHECK(config->roles.front().command.empty());
}

TEST_CASE("a job of nodes needs a token, or a user who wants none") {
  const OptionValues base = {{"nnodes", {"2"}}, {"node-rank", {"0"}}, {"master-addr", {"n0"}}};
  const auto with = [&](OptionValues more) {
    more.insert(base.begin(), base.end());
    return OptionSources{flags(std::move(more))};
  };
  CHECK(error_of(make_run_config(with({}), {"true"}, few_files))
            .starts_with("the nodes of a job prove themselves by a token, and there is none. "
                         "`dtrain token` prints one"));
  const auto open = make_run_config(with({{"no-token", {"true"}}}), {"true"}, few_files);
  REQUIRE(open);
  CHECK_FALSE(open->nodes->token);
  CHECK(error_of(decide_node(with({{"no-token", {"true"}}}))) ==
        "--no-token: conflicts with DTRAIN_NODES_TOKEN, which has a token; leave one of them out");
  CHECK(error_of(decide_node(with({}), {{"DTRAIN_NODES_TOKEN", "short"}}))
            .starts_with("DTRAIN_NODES_TOKEN: it has 5 bytes, not 64 hex digits"));
  const TemporaryFolder folder;
  folder.write("token", std::string(64, 'b') + "\n");
  const std::string path = folder.path() + "/token";
  const auto from_file = decide_node(with({{"token-file", {path}}}));
  REQUIRE(from_file);
  CHECK(from_file->nodes->token == Token::parse(std::string(64, 'b')).value());
  CHECK(error_of(decide_node(with({{"token-file", {path + "s"}}}))) ==
        "--token-file: " + path + "s: No such file or directory");
  CHECK(error_of(decide_node(with({{"token-file", {path}}, {"no-token", {"true"}}})))
            .starts_with("--no-token: conflicts with --token-file"));
}

TEST_CASE("srun's tasks are nodes where --nnodes counts them, and a trap otherwise") {
  Environment step = {{"SLURM_STEP_NUM_TASKS", "4"},
                      {"SLURM_STEP_NUM_NODES", "2"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_NODEID", "0"}};
  const OptionSources two = {flags({{"nnodes", {"2"}}, {"master-addr", {"n0"}}})};
  CHECK(error_of(decide_node(two, step))
            .starts_with("srun has started 4 tasks on 2 nodes, and dtrain run is started once on"));
  step["SLURM_PROCID"] = "3";
  CHECK(error_of(decide_node(two, step)).empty());
  step["SLURM_STEP_NUM_TASKS"] = "2";
  CHECK(node_text(decide_node(two, step)) == "node 0 of 2 (SLURM_NODEID) at n0:29500");
  step["SLURM_PROCID"] = "0";
  CHECK(error_of(decide_node({flags({{"np", {"2"}}})}, step))
            .starts_with("srun has started dtrain run 2 times"));
  // A loop of srun with one task each names the rank.
  step["SLURM_STEP_NUM_TASKS"] = "1";
  step["SLURM_JOB_ID"] = "21";
  step["SLURM_JOB_NODELIST"] = "n[1-2]";
  const OptionSources ranked = {
      flags({{"nnodes", {"2"}}, {"node-rank", {"1"}}, {"master-addr", {"n0"}}})};
  CHECK(node_text(decide_node(ranked, step)) == "node 1 of 2 (--node-rank) at n0:29500");
}

TEST_CASE("PET_NNODES above 1 refuses each option that would make a job of each node") {
  const Environment two = {{"PET_NNODES", "2"}};
  struct Case {
    OptionValues values;
    std::string begins;
    Environment environment = {};
  };
  const Case cases[] = {
      {{{"hosts", {"a,b"}}},
       "-H: PET_NNODES=2 shows that each node starts this command, and with -H each would be a job "
       "of its own; leave -H out, or unset PET_NNODES"},
      {{{"hosts", {"a,b"}}, {"nnodes", {"2"}}}, "-H: PET_NNODES=2 shows"},
      {{{"hostfile", {"hosts"}}}, "--hostfile: PET_NNODES=2 shows"},
      {{{"standalone", {"true"}}, {"np", {"1"}}}, "--standalone: PET_NNODES=2 shows"},
      {{{"np", {"1"}}}, "PET_NNODES=2 shows"},
      {{{"np", {"1"}}, {"nnodes", {"1"}}}, "accepted"},
      {{{"hosts", {"a,b"}}}, "accepted", {{"PET_NNODES", "1"}}},
      {{{"hosts", {"a,b"}}}, "accepted", {{"DTRAIN_ROLE", "worker"}}},
      {{{"cluster-spec", {"worker|h1:1"}}}, "accepted"}};
  for (const Case& c : cases) {
    CAPTURE(c.begins);
    Environment environment = c.environment;
    environment.insert(two.begin(), two.end());
    CHECK(error_of(decide_node({flags(c.values)}, environment)).substr(0, c.begins.size()) ==
          c.begins);
  }
}

}  // namespace
}  // namespace dt

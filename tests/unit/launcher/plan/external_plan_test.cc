#include "launcher/plan/external_plan.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/start/rendezvous.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const std::vector<std::string> own = {"10.0.0.1", "fd77::1", "node1.cluster", "node1"};

ExternalCluster cluster_of(std::string_view text) {
  return parse_cluster_option(text, "--cluster-spec").value();
}

ExternalCluster tf_config_of(std::string_view cluster, std::string_view type, int index) {
  return cluster_of_tf_config(format(R"({{"cluster": {}, "task": {{"type": "{}", "index": {}}}}})",
                                     cluster, type, index))
      .value();
}

Result<Plan> plan_of(const ExternalCluster& given) {
  return make_external_plan(given, roles_of(given), own);
}

/// "worker:1 1 0/2 1/2; ps:0 -": rank, local rank and size, cross rank and size.
std::string text_of(const Result<Plan>& plan) {
  if (!plan) return plan.error().message;
  std::vector<std::string> words;
  for (const Task& task : plan->tasks) {
    words.push_back(task.rank < 0
                        ? task.id.text() + " -"
                        : format("{} {} {}/{} {}/{}", task.id.text(), task.rank, task.local_rank,
                                 plan->local_size(task), task.cross_rank, task.cross_size));
  }
  return join(words, "; ") + format(" of {}", plan->world_size);
}

TEST_CASE("this machine's tasks have the ranks that they have in the whole cluster") {
  struct Case {
    const char* spec;
    const char* tasks;
  };
  const Case cases[] = {
      {"worker|node1:1;h2:1", "worker:0 0 0/1 0/2 of 2"},
      {"worker|h2:1;node1:1", "worker:1 1 0/1 1/2 of 2"},
      {"worker|h2:1;h2:2;node1:1;node1:2,ps|h2:3;node1:3,chief|h3:1",
       "worker:2 3 0/2 2/3; worker:3 4 1/2 1/2; ps:1 - of 5"},
      {"chief|node1:1,evaluator|node1:2,worker|h2:1", "chief:0 0 0/1 0/2; evaluator:0 - of 2"},
      {"worker|127.0.0.1:1;127.0.0.2:2;[::1]:3;localhost:4;10.0.0.1:5;[FD77:0::1]:6;NODE1.cluster:"
       "7",
       "worker:0 0 0/7 0/1; worker:1 1 1/7 0/1; worker:2 2 2/7 0/1; worker:3 3 3/7 0/1; "
       "worker:4 4 4/7 0/1; worker:5 5 5/7 0/1; worker:6 6 6/7 0/1 of 7"},
      {"ps|node1:1;h2:1", "ps:0 - of 0"},
      {R"({"worker": {"0": "h2:1", "3": "node1:1"}, "ps": ["node1:2"]})",
       "ps:0 -; worker:3 - of 0"},
      {R"({"worker": ["h2:1", "node1:1"], "ps": {"3": "node1:2"}})",
       "worker:1 1 0/1 1/2; ps:3 - of 2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.spec);
    CHECK(text_of(plan_of(cluster_of(c.spec))) == c.tasks);
  }
}

TEST_CASE("TF_CONFIG names the one task to start, wherever its address leads") {
  const char* const cluster =
      R"({"chief": ["c:1"], "worker": ["w:1", "w:2", "x:1"], "ps": ["p:1"]})";
  CHECK(text_of(plan_of(tf_config_of(cluster, "worker", 1))) == "worker:1 2 1/2 0/1 of 4");
  CHECK(text_of(plan_of(tf_config_of(cluster, "worker", 2))) == "worker:2 3 0/1 2/3 of 4");
  CHECK(text_of(plan_of(tf_config_of(cluster, "ps", 0))) == "ps:0 - of 4");
  CHECK(text_of(plan_of(tf_config_of(cluster, "evaluator", 0))) == "evaluator:0 - of 4");
  CHECK(text_of(plan_of(tf_config_of(R"({"worker": ["w:1"], "evaluator": []})", "evaluator", 0))) ==
        "evaluator:0 - of 1");
  const Plan plan = plan_of(tf_config_of(cluster, "worker", 1)).value();
  CHECK(plan.hosts.front().host == Host{.name = "w", .slots = 1, .here = true});
  CHECK(plan.is_partial());
  CHECK(plan.external_layout->tasks_elsewhere == 4);
  CHECK(plan.external_layout->rank_0_address == "c:1");
  CHECK(plan.external_layout->shape ==
        JobShape{.role_sizes = {{"chief", 1}, {"ps", 1}, {"worker", 3}},
                 .node_of_host = {1},
                 .node_count = 3});
}

TEST_CASE("a cluster with all tasks here is a job like any other") {
  CHECK_FALSE(plan_of(cluster_of("worker|node1:1;localhost:2")).value().is_partial());
  CHECK_FALSE(plan_of(tf_config_of(R"({"worker": ["w:1"]})", "worker", 0)).value().is_partial());
}

TEST_CASE("a cluster without a task here, and two tasks on one port, are refused") {
  CHECK(plan_of(cluster_of("worker|h2:1;h3:1;h2:2,ps|h4:1")).error() ==
        Error{Errc::input,
              "--cluster-spec: cluster: no task is on this machine, which is 10.0.0.1, fd77::1, "
              "node1.cluster, node1;\nits tasks are on h2, h3, h4"});
  CHECK(plan_of(cluster_of("worker|127.0.0.1:5;127.0.0.2:5")).error() ==
        Error{Errc::input,
              "--cluster-spec: cluster: worker[1]: port 5 is also that of worker[0], on the same "
              "machine"});
  CHECK(plan_of(cluster_of("worker|127.0.0.1:5;h2:5")));
}

const Reach at_home = {
    .launcher = "127.0.0.1", .hosts = {{.ips = {"127.0.0.1"}, .interface = {}}}, .warnings = {}};

JobFacts facts_of(const Plan& plan, std::vector<uint16_t> held) {
  return job_facts({}, plan, task_table(plan, "job", at_home), {{"127.0.0.1", 7}, Token(), true},
                   {{.ports = std::move(held)}});
}

TEST_CASE("the agent holds the ports of the given addresses, and no others") {
  RunConfig config;
  config.command = {"true"};
  config.external_cluster = cluster_of("worker|node1:11;h2:12;node1:13");
  const Plan part = plan_of(*config.external_cluster).value();
  const Prepare order = prepare_orders(config, part, {.job = "job", .generation = 1}, {}).front();
  CHECK(order.addresses == std::vector<std::string>{"node1:11", "node1:13"});
  CHECK(order.ports == 0);
  config.external_cluster = cluster_of("worker|node1:11;node1:13");
  const Plan whole = plan_of(*config.external_cluster).value();
  CHECK(prepare_orders(config, whole, {.job = "job", .generation = 1}, {}).front().ports == 2);
}

TEST_CASE("the rendezvous answers Horovod's workers only in complete jobs that run Horovod") {
  const auto answered = [](const RunConfig& config, const char* spec) {
    return horovod_sources(config, plan_of(cluster_of(spec)).value(), at_home, {Hello{}});
  };
  RunConfig config;
  CHECK(answered(config, "worker|localhost:11;localhost:12") == AddressSet({"127.0.0.1"}));
  CHECK_FALSE(answered(config, "worker|localhost:11;h2:12"));
  config.no_horovod = true;
  CHECK_FALSE(answered(config, "worker|localhost:11;localhost:12"));
  config = {};
  config.env_sets = {EnvSet::torch};
  CHECK_FALSE(answered(config, "worker|localhost:11;localhost:12"));
}

TEST_CASE("tasks of a partial plan get the cluster and rank 0's address, and no rendezvous") {
  const ExternalCluster given = cluster_of("worker|h2:11;node1:12");
  const JobFacts part = facts_of(plan_of(given).value(), {});
  CHECK(part.cluster == given.cluster);
  CHECK(part.rendezvous.empty());
  CHECK(part.master_address == "h2");
  CHECK(part.master_port == 11);
  const JobFacts whole = facts_of(plan_of(cluster_of("worker|node1:11;node1:12")).value(), {8, 9});
  CHECK(whole.rendezvous == "127.0.0.1:7");
  CHECK(whole.master_port == 9);
  CHECK(whole.jax_port == 8);
  CHECK(whole.cluster == cluster_of("worker|node1:11;node1:12").cluster);
}

}  // namespace
}  // namespace dt

#include "launcher/environment/paddle_environment.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

/// A chief and two workers on two hosts, and with `servers` two tasks of role ps.
struct Trainers {
  explicit Trainers(bool servers = false) {
    std::vector<Role> roles = {{.name = "chief", .count = 1}, {.name = "worker", .count = 2}};
    job.cluster.jobs = {{"chief", {{0, "10.0.0.1:1"}}},
                        {"worker", {{0, "10.0.0.1:2"}, {1, "10.0.0.2:3"}}}};
    if (servers) {
      roles.push_back({.name = "ps", .count = 2, .ranked = false});
      roles.push_back({.name = "evaluator", .count = 1, .ranked = false});
      job.cluster.jobs["ps"] = {{0, "10.0.0.2:4"}, {1, "10.0.0.2:5"}};
      job.cluster.jobs["evaluator"] = {{0, "10.0.0.2:6"}};
    }
    plan =
        make_plan({.hosts = {{.name = "a", .slots = 2}, {.name = "b", .slots = 4}}, .roles = roles})
            .value();
    job.master_address = "10.0.0.1";
    job.master_port = 9000;
    job.shape = job_shape_of(plan);
  }
  Environment role_of(size_t task) const {
    Environment environment;
    add_paddle_role(environment, job, plan.tasks[task]);
    return environment;
  }
  Plan plan;
  JobFacts job;
};

TEST_CASE("trainers are listed by rank, whatever their role, and parameter servers if there are") {
  const Trainers trainers;
  Environment common;
  add_paddle_cluster(common, trainers.job, trainers.plan);
  CHECK(common == Environment{{"PADDLE_MASTER", "10.0.0.1:9000"},
                              {"PADDLE_NNODES", "2"},
                              {"PADDLE_TRAINERS_NUM", "3"},
                              {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:1,10.0.0.1:2,10.0.0.2:3"}});
  const Trainers with_servers(true);
  add_paddle_cluster(common, with_servers.job, with_servers.plan);
  CHECK(common.at("PADDLE_TRAINER_ENDPOINTS") == "10.0.0.1:1,10.0.0.1:2,10.0.0.2:3");
  CHECK(common.at("PADDLE_PSERVERS_IP_PORT_LIST") == "10.0.0.2:4,10.0.0.2:5");
}

TEST_CASE("a trainer gets its rank, its local rank and its GPU") {
  Trainers trainers;
  Environment second;
  add_paddle_rank(second, trainers.job, trainers.plan, trainers.plan.tasks[1]);
  CHECK(second == Environment{{"PADDLE_TRAINER_ID", "1"},
                              {"PADDLE_GLOBAL_RANK", "1"},
                              {"PADDLE_GLOBAL_SIZE", "3"},
                              {"PADDLE_LOCAL_RANK", "1"},
                              {"PADDLE_RANK_IN_NODE", "1"},
                              {"PADDLE_LOCAL_SIZE", "2"},
                              {"PADDLE_CURRENT_ENDPOINT", "10.0.0.1:2"},
                              {"FLAGS_selected_gpus", "1"}});
  trainers.job.own_gpus = 1;
  Environment alone;
  add_paddle_rank(alone, trainers.job, trainers.plan, trainers.plan.tasks[1]);
  CHECK(alone.at("FLAGS_selected_gpus") == "0");
}

TEST_CASE("a task gets its role only in a job with parameter servers") {
  CHECK(Trainers().role_of(0).empty());
  const Trainers trainers(true);
  CHECK(trainers.role_of(0) == Environment{{"TRAINING_ROLE", "TRAINER"},
                                           {"PADDLE_ROLE", "TRAINER"},
                                           {"POD_IP", "10.0.0.1"},
                                           {"PADDLE_PORT", "1"}});
  REQUIRE(trainers.plan.tasks[4].id == TaskId{"ps", 1});
  CHECK(trainers.role_of(4) == Environment{{"TRAINING_ROLE", "PSERVER"},
                                           {"PADDLE_ROLE", "PSERVER"},
                                           {"POD_IP", "10.0.0.2"},
                                           {"PADDLE_PORT", "5"}});
  REQUIRE(trainers.plan.tasks[5].id == TaskId{"evaluator", 0});
  CHECK(trainers.role_of(5).empty());
}

TEST_CASE("a list that exceeds the limit of a variable is left out") {
  Trainers trainers(true);
  for (int i = 0; i < 10'000; ++i)
    trainers.job.cluster.jobs["ps"][i] = "10.200.200.200:40000";
  Environment common;
  add_paddle_cluster(common, trainers.job, trainers.plan);
  CHECK_FALSE(common.contains("PADDLE_PSERVERS_IP_PORT_LIST"));
  CHECK(common.contains("PADDLE_TRAINER_ENDPOINTS"));
}

TEST_CASE("trainers that see no accelerator use gloo, unless the user sets another backend") {
  struct Row {
    Environment users;
    Environment added;
    bool accelerator;
    const char* backend;
  };
  const Environment trainer = {{"PADDLE_TRAINER_ID", "0"}};
  const Row rows[] = {{{}, trainer, false, "gloo"},
                      {{}, trainer, true, nullptr},
                      {{{"CUDA_VISIBLE_DEVICES", "1"}}, trainer, true, nullptr},
                      {{{"CUDA_VISIBLE_DEVICES", ""}}, trainer, true, "gloo"},
                      {{{"PADDLE_DISTRI_BACKEND", "xccl"}}, trainer, false, "xccl"},
                      {{}, {}, false, nullptr}};
  for (const Row& row : rows) {
    const HostFacts host = {.own = {}, .hostname = "h", .accelerator = row.accelerator};
    const Environment environment = worker_environment(row.users, host, row.added, {});
    const auto found = environment.find("PADDLE_DISTRI_BACKEND");
    CHECK((found == environment.end()) == (row.backend == nullptr));
    if (row.backend != nullptr) CHECK(found->second == row.backend);
  }
}

}  // namespace
}  // namespace dt

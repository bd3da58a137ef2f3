#include "launcher/environment/dmlc_environment.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const ClusterSpec cluster = {.jobs = {{"scheduler", {{0, "10.0.0.1:9000"}}},
                                      {"server", {{0, "10.0.0.1:1"}, {1, "10.0.0.2:2"}}},
                                      {"worker", {{0, "10.0.0.3:3"}}},
                                      {"evaluator", {{0, "10.0.0.4:4"}}}}};

Environment dmlc_of(const TaskId& task) {
  Environment environment;
  add_dmlc_task(environment, cluster, task);
  return environment;
}

TEST_CASE("all tasks get the scheduler's address, and the numbers of servers and workers") {
  Environment common;
  add_dmlc_scheduler(common, cluster);
  CHECK(common == Environment{{"DMLC_PS_ROOT_URI", "10.0.0.1"},
                              {"DMLC_PS_ROOT_PORT", "9000"},
                              {"DMLC_NUM_SERVER", "2"},
                              {"DMLC_NUM_WORKER", "1"}});
  Environment none;
  add_dmlc_scheduler(none, {.jobs = {{"worker", {{0, "a:1"}}}}});
  CHECK(none.empty());
}

TEST_CASE("scheduler, servers and workers get their role and address; other roles get none") {
  CHECK(dmlc_of({"scheduler", 0}) ==
        Environment{{"DMLC_ROLE", "scheduler"}, {"DMLC_NODE_HOST", "10.0.0.1"}});
  CHECK(dmlc_of({"server", 1}) == Environment{{"DMLC_ROLE", "server"},
                                              {"DMLC_SERVER_ID", "1"},
                                              {"DMLC_NODE_HOST", "10.0.0.2"}});
  CHECK(dmlc_of({"worker", 0}) == Environment{{"DMLC_ROLE", "worker"},
                                              {"DMLC_WORKER_ID", "0"},
                                              {"DMLC_NODE_HOST", "10.0.0.3"}});
  CHECK(dmlc_of({"evaluator", 0}).empty());
}

}  // namespace
}  // namespace dt

#include "launcher/environment/dmlc_environment.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const ClusterSpec cluster = {.jobs = {{"scheduler", {{0, "10.0.0.1:9000"}}},
                                      {"server", {{0, "10.0.0.1:1"}, {1, "10.0.0.2:2"}}},
                                      {"worker", {{0, "10.0.0.3:3"}}},
                                      {"evaluator", {{0, "10.0.0.4:4"}}}}};

Environment place_of(const TaskId& task) {
  Environment environment;
  add_dmlc_place(environment, cluster, task);
  return environment;
}

TEST_CASE("all are told where the scheduler is, and how many of the others to wait for") {
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

TEST_CASE("a task is told which of the three it is, and its address; others are none of them") {
  CHECK(place_of({"scheduler", 0}) ==
        Environment{{"DMLC_ROLE", "scheduler"}, {"DMLC_NODE_HOST", "10.0.0.1"}});
  CHECK(place_of({"server", 1}) == Environment{{"DMLC_ROLE", "server"},
                                               {"DMLC_SERVER_ID", "1"},
                                               {"DMLC_NODE_HOST", "10.0.0.2"}});
  CHECK(place_of({"worker", 0}) == Environment{{"DMLC_ROLE", "worker"},
                                               {"DMLC_WORKER_ID", "0"},
                                               {"DMLC_NODE_HOST", "10.0.0.3"}});
  CHECK(place_of({"evaluator", 0}).empty());
}

}  // namespace
}  // namespace dt

#include "launcher/report/report.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

TEST_CASE("failure_text names rank, host, pid and cause, and the last lines of stderr") {
  Failure failure = {
      .task = {"worker", 3}, .rank = 3, .host = "node2", .pid = 77, .cause = "killed by SIGSEGV"};
  CHECK(failure_text(failure, {}) == "rank 3 (host node2, pid 77) failed: killed by SIGSEGV");
  CHECK(failure_text(failure, {"a", "b"}) ==
        "rank 3 (host node2, pid 77) failed: killed by SIGSEGV\n"
        "last lines of its stderr:\n  a\n  b");
  CHECK(failure_text(failure, {"a"}, "output") ==
        "rank 3 (host node2, pid 77) failed: killed by SIGSEGV\n"
        "last lines of its output:\n  a");
  failure.error = TaskError{"ValueError: bad", "/t/train.py:12", 0};
  CHECK(failure_text(failure, {"a"}) ==
        "rank 3 (host node2, pid 77) failed: killed by SIGSEGV\n"
        "  ValueError: bad (/t/train.py:12)\n"
        "last lines of its stderr:\n  a");
  failure.error.reset();
  failure.pid = 0;
  failure.cause = "cannot run x";
  CHECK(failure_text(failure, {}) == "rank 3 (host node2) could not be started: cannot run x");
  failure.rank = -1;
  failure.task = {"ps", 0};
  CHECK(failure_text(failure, {}) == "ps:0 (host node2) could not be started: cannot run x");
}

TEST_CASE("failure_cause explains the end on a host that is being taken away") {
  CHECK(failure_cause({.code = 3}) == "exit status 3");
  CHECK(failure_cause({.signal = SIGINT}) == "killed by SIGINT");
  const std::string ending =
      " (SIGTERM not sent by dtrain: is its host being taken away? Then start the job again)";
  CHECK(failure_cause({.code = 143}) == "exit status 143" + ending);
  CHECK(failure_cause({.signal = SIGTERM}) == "killed by SIGTERM" + ending);
}

TEST_CASE("plan_text and plan_json show which task would run where") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 1}, {.name = "longer", .slots = 2}};
  const Plan plan = make_plan(request).value();
  CHECK(plan_text(plan, {"python", "a b.py"}) ==
        "3 processes on 2 hosts: python 'a b.py'\n"
        " rank  host    local_rank  cross_rank  task\n"
        "    0  a                0           0  worker:0\n"
        "    1  longer           0           1  worker:1\n"
        "    2  longer           1           0  worker:2\n");
  const Json json = plan_json(plan, {"x"});
  CHECK(*json.find("world_size") == Json(3));
  const auto* tasks = json.find("tasks")->as<Json::Array>();
  REQUIRE(tasks);
  REQUIRE(tasks->size() == 3);
  CHECK(*(*tasks)[2].find("local_rank") == Json(1));
  CHECK(*(*tasks)[2].find("host") == Json("longer"));
}

TEST_CASE("plan_text and plan_json show spares, which have no tasks") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 2}};
  request.spares = {{.name = "spare1", .slots = 1}, {.name = "spare2", .slots = 4}};
  const Plan plan = make_plan(request).value();
  CHECK(plan_text(plan, {"train"}) ==
        "2 processes on 1 host: train\n"
        " rank  host  local_rank  cross_rank  task\n"
        "    0  a              0           0  worker:0\n"
        "    1  a              1           0  worker:1\n"
        "spare: spare[1-2]\n");
  CHECK(plan_json(plan, {"train"}).find("hosts")->text() ==
        R"([{"name":"a","slots":2,"tasks":2},{"name":"spare1","slots":1,"tasks":0},)"
        R"({"name":"spare2","slots":4,"tasks":0}])");
}

TEST_CASE(
    "plan_text and plan_json show every role, its command, and no ranks where there are none") {
  PlanRequest request;
  request.hosts = {{.name = "a", .slots = 3}};
  request.roles = {{.name = "ps", .count = 1, .command = {"serve", "x y"}, .ranked = false},
                   {.name = "worker", .count = 2}};
  const Plan plan = make_plan(request).value();
  CHECK(plan_text(plan, {"train"}) ==
        "3 processes on 1 host: train\n"
        "ps: serve 'x y'\n"
        " rank  host  local_rank  cross_rank  task\n"
        "    0  a              0           0  worker:0\n"
        "    1  a              1           0  worker:1\n"
        "    -  a              -           -  ps:0\n");
  const Json json = plan_json(plan, {"train"});
  CHECK(
      json.find("roles")->text() ==
      R"([{"name":"worker","tasks":2,"ranked":true,"restarts":0,"restarts_always":false,"command":["train"],"resources":null,"ports":[]},)"
      R"({"name":"ps","tasks":1,"ranked":false,"restarts":0,"restarts_always":false,"command":["serve","x y"],"resources":null,"ports":[]}])");
  const auto* tasks = json.find("tasks")->as<Json::Array>();
  REQUIRE(tasks);
  CHECK((*tasks)[1].text() ==
        R"({"role":"worker","index":1,"rank":1,"local_rank":1,"local_size":2,"cross_rank":0,)"
        R"("cross_size":1,"host":"a"})");
  CHECK((*tasks)[2].text() ==
        R"({"role":"ps","index":0,"rank":null,"local_rank":null,"local_size":null,)"
        R"("cross_rank":null,"cross_size":null,"host":"a"})");
}

TEST_CASE("plan_text and plan_json show the part of a cluster that is started, and where") {
  Plan plan;
  plan.hosts = {{.host = {.name = "node1", .slots = 1}}};
  plan.world_size = 3;
  plan.add({.id = {"worker", 2}, .rank = 2, .local_rank = 0, .cross_rank = 1});
  plan.external_layout = {.cluster = {{{"worker", {{2, "node1:2222"}}}}}, .tasks_elsewhere = 2};
  const std::string text = plan_text(plan, {"true"});
  CHECK(text.starts_with("1 processes on 1 host, of 3 in the cluster: true\n"));
  CHECK(text.ends_with("  worker:2 at node1:2222\n"));
  CHECK(plan_json(plan, {"true"}).find("cluster")->text() == R"({"worker":{"2":"node1:2222"}})");
}

}  // namespace
}  // namespace dt

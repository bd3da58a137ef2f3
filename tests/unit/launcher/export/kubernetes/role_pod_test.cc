#include "launcher/export/kubernetes/role_pod.h"

#include "base/format.h"
#include "tests/unit/launcher/export/fixture.h"

#include <algorithm>

namespace dt {
namespace {

constexpr std::string_view two_roles =
    "command = ['x', '{index}']\nimage = 'i'\nenv_set = ['none', 'tf']\n"
    "[roles.chief]\nreplicas = 1\n[roles.worker]\nreplicas = 3\n";

Containers containers_named(const ExportJob& job) {
  return containers_of(job, [](const TaskId& id) { return format("j-{}-{}.j", id.role, id.index); })
      .value();
}

Pod pod_of(const Containers& containers, std::string_view role) {
  return role_pod(containers, *find_role(containers.plan.roles, role),
                  {.index = "index", .rank = "rank"})
      .value();
}

YamlValue value_of(const Pod& pod, std::string_view name) {
  const auto found = std::ranges::find(pod.environment, name, &PodVariable::name);
  return found == pod.environment.end() ? YamlValue() : found->value;
}

TEST_CASE("the pods of a role have one text, with the numbers of their tasks as fields") {
  const Containers containers = containers_named(exported_job(two_roles));
  const Pod pod = pod_of(containers, "worker");
  CHECK(pod.command == std::vector<std::string>{"x", "$(DTRAIN_TASK_INDEX)"});
  REQUIRE(pod.environment.size() > 2);
  CHECK(pod.environment[0] == variable_of_field("DTRAIN_TASK_INDEX", "index"));
  CHECK(pod.environment[1] == variable_of_field("DTRAIN_RANK", "rank"));
  CHECK(
      value_of(pod, "TF_CONFIG") ==
      variable_of_text(
          "",
          R"({"cluster":{"chief":["j-chief-0.j:2222"],"worker":["j-worker-0.j:2222","j-worker-1.j:2222","j-worker-2.j:2222"]},"task":{"type":"worker","index":$(DTRAIN_TASK_INDEX)}})")
          .value);
  CHECK(value_of(pod, "DTRAIN_NODE_RANK") == variable_of_text("", "$(DTRAIN_RANK)").value);
}

TEST_CASE("a role of one task needs no fields") {
  const Containers containers = containers_named(exported_job(two_roles));
  const Pod pod = pod_of(containers, "chief");
  CHECK(pod.command == std::vector<std::string>{"x", "0"});
  CHECK(value_of(pod, "DTRAIN_RANK") == variable_of_text("", "0").value);
}

TEST_CASE("tasks that differ by more than a number are refused") {
  Containers containers = containers_named(exported_job(two_roles));
  containers.all[1].environment["A"] = "left";
  containers.all[2].environment["A"] = "right";
  const auto refused = role_pod(containers, *find_role(containers.plan.roles, "worker"), {});
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "role worker: A differs between the tasks by more than a number, and all pods of a role "
        "have one text; leave it out");
}

}  // namespace
}  // namespace dt

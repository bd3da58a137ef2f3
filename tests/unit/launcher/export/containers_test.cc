#include "launcher/export/containers.h"

#include "tests/unit/launcher/export/fixture.h"

#include <algorithm>

namespace dt {
namespace {

const Container& named(const Containers& containers, std::string_view name) {
  const auto found = std::ranges::find(containers.all, name, &Container::name);
  REQUIRE(found != containers.all.end());
  return *found;
}

std::string value_of(const Container& container, const char* name) {
  const auto found = container.environment.find(name);
  return found == container.environment.end() ? "not set" : found->second.value_or("passed on");
}

TEST_CASE("each task has a container, whose variables name the others by their containers") {
  const ExportJob job = exported_job(R"(
command = ["python", "t.py", "--task={role}:{index}", "--ps={hosts:ps}", "{rank}"]
env = { A = "1", B = "{port}" }
pass_env = ["SECRET", "C"]
[roles.worker]
replicas = 2
[roles.ps]
replicas = 1
command = "serve $A"
env = { A = "2", C = "3" }
)");
  const Containers containers = containers_of(job).value();
  REQUIRE(containers.all.size() == 3);
  const Container& second = named(containers, "worker-1");
  CHECK(second.command ==
        std::vector<std::string>{"python", "t.py", "--task=worker:1", "--ps=ps-0:2222", "1"});
  CHECK(value_of(second, "A") == "1");
  CHECK(value_of(second, "B") == "2222");
  CHECK(value_of(second, "SECRET") == "passed on");
  CHECK(value_of(second, "RANK") == "1");
  CHECK(value_of(second, "WORLD_SIZE") == "2");
  CHECK(value_of(second, "LOCAL_RANK") == "0");
  CHECK(value_of(second, "LOCAL_WORLD_SIZE") == "1");
  CHECK(value_of(second, "MASTER_ADDR") == "worker-0");
  CHECK(value_of(second, "MASTER_PORT") == "29500");
  CHECK(value_of(second, "JAX_COORDINATOR_ADDRESS") == "worker-0:29501");
  CHECK(value_of(second, "TF_CONFIG") ==
        R"({"cluster":{"ps":["ps-0:2222"],"worker":["worker-0:2222","worker-1:2222"]},)"
        R"("task":{"type":"worker","index":1}})");
  const Container& server = named(containers, "ps-0");
  CHECK(server.command == std::vector<std::string>{"sh", "-c", "serve $A"});
  CHECK(value_of(server, "A") == "2");
  CHECK(value_of(server, "C") == "3");
  CHECK(value_of(server, "RANK") == "not set");
  CHECK(value_of(server, "CUDA_VISIBLE_DEVICES") == "");
}

TEST_CASE("no container has variables of a rendezvous, of a proxy, or of Horovod") {
  const Containers containers = containers_of(exported_job("command = 'x'\nnp = 2\n")).value();
  for (const char* const name : {"DTRAIN_RENDEZVOUS", "DTRAIN_TOKEN", "no_proxy", "HOROVOD_RANK",
                                 "HOROVOD_HOSTNAME", "DTRAIN_ATTEMPT", "DTRAIN_CODE_DIR"}) {
    CAPTURE(name);
    CHECK(value_of(containers.all[0], name) == "not set");
  }
}

TEST_CASE("the number of tasks comes from slots of hosts, without contact to them") {
  CHECK(containers_of(exported_job("command = 'x'\nhosts = ['a:2', 'b:1']\n")).value().all.size() ==
        3);
  const auto unknown = containers_of(exported_job("command = 'x'\nhosts = ['a', 'b']\n"));
  REQUIRE(!unknown);
  CHECK(unknown.error().message.find("add np = 4") != std::string::npos);
}

TEST_CASE("options that name tasks must fit, and a given cluster does not") {
  const auto absent = containers_of(exported_job("command = 'x'\nnp = 2\nsuccess = 'role:ps'\n"));
  REQUIRE(!absent);
  CHECK(absent.error().message.find("ps") != std::string::npos);
  const auto given =
      containers_of(exported_job("command = 'x'\ncluster-spec = 'worker|a:1;b:1'\n"));
  REQUIRE(!given);
  CHECK(given.error().message.find("leave it out") != std::string::npos);
  const auto macro = containers_of(exported_job("command = ['x', '{hosts:ps}']\nnp = 2\n"));
  REQUIRE(!macro);
  CHECK(macro.error().message.find("ps") != std::string::npos);
}

TEST_CASE("options about tasks are checked without containers") {
  const auto check = [](const std::string& option) {
    return check_tasks(exported_job("command = 'x'\nnp = 2\n" + option)).has_value();
  };
  CHECK(check(""));
  CHECK(check("strategy = 'multi_worker_mirrored'\n"));
  CHECK(!check("strategy = 'mirrored'\n"));
  CHECK(!check("success = 'chief'\n"));
}

TEST_CASE("a role whose containers would have too long a name is refused") {
  const auto of_role = [](size_t bytes) {
    return containers_of(exported_job("command = 'x'\n[roles.worker]\nreplicas = 1\n[roles." +
                                      std::string(bytes, 'r') + "]\nreplicas = 10\n"));
  };
  CHECK(of_role(61).has_value());
  REQUIRE(!of_role(62));
  CHECK(of_role(62).error().message.ends_with("at most 63 bytes; shorten the role's name"));
}

TEST_CASE("code lies at its target, else in a folder of the containers") {
  const ExportJob named = exported_job(
      "command = ['x', '{code_dir}']\nnp = 1\n[code]\npath = '.'\ntarget = '/root/code'\n");
  const Containers containers = containers_of(named).value();
  CHECK(containers.all[0].command.back() == "/root/code");
  CHECK(value_of(containers.all[0], "DTRAIN_CODE_DIR") == "/root/code");
  const ExportJob unnamed = exported_job("command = 'x'\nnp = 1\n[code]\npath = '.'\n");
  CHECK(code_target(unnamed.config) == "/code");
  CHECK(value_of(containers_of(unnamed).value().all[0], "DTRAIN_CODE_DIR") == "/code");
}

TEST_CASE("an image is that of the role, else that of the job") {
  const Containers containers = containers_of(exported_job(R"(
command = 'x'
image = "a:1"
[roles.worker]
replicas = 1
[roles.ps]
replicas = 1
image = "b:1"
)"))
                                    .value();
  CHECK(named(containers, "worker-0").image == "a:1");
  CHECK(named(containers, "ps-0").image == "b:1");
}

}  // namespace
}  // namespace dt

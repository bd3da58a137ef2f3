#include "launcher/export/kubernetes/manifest_checks.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

TEST_CASE("a job that Kubernetes would refuse is refused here, with the next step") {
  struct Case {
    const char* job;
    KubernetesOptions options;
    const char* message;
  };
  const Case cases[] = {
      {"[roles.ps]\nreplicas = 1\n[roles.worker]\nreplicas = 2\n",
       {.kind = KubernetesKind::mpijob},
       "the roles ps=1, worker=2: the pods of mpijob are equal; write: --kind jobset"},
      {"", {.runtime = "r"}, "--runtime r: only a trainjob has a runtime; write: --kind trainjob"},
      {"name = 'My_Job'\n", {}, "--name, or the file's own, \"My_Job\": Kubernetes takes"},
      {"", {.secret = "S"}, "--secret \"S\": Kubernetes takes"},
      {"", {.queue = "Q"}, "--queue \"Q\": Kubernetes takes"},
      {"", {.queue = std::string(64, 'q')}, "--queue: the name has 64 bytes, and the label"},
      {"env = { 'A B' = '1' }\n", {}, "the variable A B: Kubernetes takes names of letters"},
      {"env = { DTRAIN_NODES_TOKEN = 'a' }\n", {}, "the variable DTRAIN_NODES_TOKEN: the manifest"},
      {"env = { PET_NNODES = '3' }\n", {}, "the variable PET_NNODES: the manifest has it"},
      {"env = { '1A' = '1' }\n", {}, "the variable 1A: Kubernetes takes names of letters"}};
  for (const Case& one : cases) {
    CAPTURE(one.message);
    const auto refused = check_manifest_job(pods_job("", one.job), one.options);
    REQUIRE(!refused);
    CAPTURE(refused.error().message);
    CHECK(refused.error().message.starts_with(one.message));
  }
  CHECK(check_manifest_job(pods_job("", "np = 2\n"), {}));
  CHECK(check_manifest_job(pods_job("", "np = 2\n"), {.queue = "1.team"}));
}

TEST_CASE("a variable that is too long for a program is refused") {
  ExportJob job = pods_job("", "np = 2\n");
  job.config.environment = {{.name = "A", .value = std::string((size_t{128} << 10) - 3, 'x')}};
  CHECK(check_manifest_job(job, {}));
  job.config.environment.front().value->push_back('x');
  const auto refused = check_manifest_job(job, {});
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "the variable A has 131072 bytes, and a program may get one of 131071; put it into a file "
        "of a mount");
}

TEST_CASE("a role without an image is refused") {
  ExportJob job = pods_job("", "np = 2\n");
  job.config.image.clear();
  const auto refused = check_manifest_job(job, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.starts_with("role worker: a pod needs an image; add image = "));
}

TEST_CASE("an image that no cluster can pull is refused") {
  ExportJob job = pods_job("", "np = 2\n");
  job.config.image = "i i";
  const auto refused = check_manifest_job(job, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.starts_with(
      "role worker: no cluster can pull the image \"i i\": Kubernetes takes "));
  job.config.roles.front().image = "reg.example.org/train:v1";
  CHECK(check_manifest_job(job, {}));
  job.config.roles.front().image = "Train";
  CHECK(!check_manifest_job(job, {}));
}

}  // namespace
}  // namespace dt

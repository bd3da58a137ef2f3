#include "launcher/export/kubernetes/kubernetes_manifest.h"

#include "base/format.h"
#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

TEST_CASE("only --with-secret writes the token, and then no line makes one") {
  const std::string nodes = "nnodes = '2'\n";
  const Exported without = manifest_of(nodes, "", {.secret = "s"}).value();
  CHECK(!has_text(without, "token: TOKEN"));
  CHECK(has_text(without, "#   kubectl create secret generic s --from-literal=token=$(dtrain"));
  const Exported with = manifest_of(nodes, "", {.with_secret = true}).value();
  CHECK(has_text(with, "kind: Secret\nmetadata:\n  name: mnist-dtrain\n"));
  CHECK(has_text(with, "type: Opaque\nstringData:\n  token: TOKEN\n---\n"));
  CHECK(!has_text(with, "kubectl create secret"));
}

TEST_CASE("everything that the objects lack is named") {
  const auto left_out = [](const std::string& nodes, const std::string& others,
                           KubernetesOptions options) {
    const Exported exported = manifest_of(nodes, others, options).value();
    std::string text;
    for (const std::string& one : exported.left_out)
      text += one + "\n";
    return text;
  };
  CHECK(left_out("", "np = 2\n", {}) == "");
  CHECK(left_out("", "np = 2\nhosts = ['localhost:2']\n", {}) == "");
  CHECK(left_out("", "hosts = ['a:2']\n", {}) ==
        "the names of the hosts, since Kubernetes chooses the nodes\n");
  CHECK(left_out("", "np = 2\nmax-restarts = 1\npass-env = ['A']\nspare = ['b']\nhosts = ['a:2']\n",
                 {}) ==
        "the names of the hosts, since Kubernetes chooses the nodes\n"
        "the value of A, which is not in the job\nthe option spare\n");
  CHECK(left_out("nnodes = '2:3'\nnproc-per-node = '1'\n", "bind-to = 'core'\n",
                 {.without_dtrain = true}) ==
        "the rendezvous of dtrain run, by which programs of libdtrain, Horovod and MPI meet\n"
        "the least number of nodes in 2:3\nthe option bind-to\n");
  CHECK(left_out("", "np = 2\n", {.with_secret = true}) ==
        "the Secret, since no node of this job takes a token from one\n");
}

TEST_CASE("a manifest that a cluster would not take is refused") {
  std::string job = "np = 2\n[env]\n";
  for (int at = 0; at < 11; ++at)
    job += format("A{} = '{}'\n", at, std::string(100'000, 'x'));
  const auto refused = manifest_of("", job, {});
  REQUIRE(!refused);
  CHECK(refused.error().message.starts_with("the manifest has 11"));
}

TEST_CASE("bytes that YAML cannot hold are refused in manifests, too") {
  ExportJob job = pods_job("", "np = 2\n");
  job.config.command = {"x", "\xff"};
  CHECK(!kubernetes_manifest(job, {}, ""));
}

}  // namespace
}  // namespace dt

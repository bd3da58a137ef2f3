#include "launcher/export/kubernetes/kubernetes_job.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

TEST_CASE("a job has roles unless all its tasks are workers") {
  CHECK(!has_roles(pods_job("", "np = 2\n")));
  CHECK(has_roles(pods_job("", "[roles.chief]\nreplicas = 1\n")));
}

TEST_CASE("dtrain reaches the nodes of a kind in one way, and tasks of roles need no launcher") {
  const ExportJob job = pods_job("", "");
  const auto reach = [&job](KubernetesKind kind, int nodes) {
    return node_reach({.job = job, .options = {.kind = kind}, .shape = {.nodes = nodes}});
  };
  CHECK(reach(KubernetesKind::jobset, 2) == NodeReach::dialed);
  CHECK(reach(KubernetesKind::jobset, 1) == NodeReach::alone);
  CHECK(reach(KubernetesKind::mpijob, 1) == NodeReach::ssh);
  CHECK(has_launcher({.job = job, .options = {}}));
  CHECK(!has_launcher({.job = job, .options = {.without_dtrain = true}}));
  const ExportJob roles = pods_job("", "[roles.chief]\nreplicas = 1\n");
  CHECK(!has_launcher({.job = roles, .options = {}}));
}

TEST_CASE("nodes need a token where dtrain joins several of them") {
  const ExportJob job = pods_job("", "");
  const auto needs = [&job](const KubernetesOptions& options, int nodes) {
    return needs_token({.job = job, .options = options, .shape = {.nodes = nodes}});
  };
  CHECK(needs({}, 2));
  CHECK(!needs({}, 1));
  CHECK(!needs({.without_dtrain = true}, 2));
  CHECK(!needs({.kind = KubernetesKind::mpijob}, 2));
  const auto needs_with = [](const char* option) {
    const ExportJob other = pods_job(option, "");
    return needs_token({.job = other, .options = {}, .shape = {.nodes = 2}});
  };
  CHECK(!needs_with("no-token = true\n"));
  CHECK(needs_with("no-token = false\n"));
  CHECK(!needs_with("token-file = '/run/token'\n"));
}

}  // namespace
}  // namespace dt

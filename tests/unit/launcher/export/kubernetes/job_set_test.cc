#include "launcher/export/kubernetes/job_set.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

const KubernetesOptions jobset = {.kind = KubernetesKind::jobset};

TEST_CASE("nodes are jobs of one pod, whose number in the set is the rank of the node") {
  const Exported exported =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n", "max-restarts = 2\n", jobset).value();
  CHECK(has_text(exported, R"(apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: mnist
  labels:
    app.kubernetes.io/name: mnist
spec:
  network:
    enableDNSHostnames: true
    publishNotReadyAddresses: true
    subdomain: mnist
  failurePolicy:
    maxRestarts: 2
  replicatedJobs:
    - name: node
      replicas: 3
      template:
        spec:
          completionMode: Indexed
          completions: 1
          parallelism: 1
          backoffLimit: 0
)"));
  CHECK(has_text(exported, R"(                    - "--node-rank"
                    - "env:DTRAIN_NODE_RANK"
                    - "--master-addr"
                    - mnist-node-0-0.mnist
)"));
  CHECK(has_text(exported, R"(                    - name: DTRAIN_NODE_RANK
                      valueFrom:
                        fieldRef:
                          fieldPath: "metadata.labels['jobset.sigs.k8s.io/job-global-index']"
)"));
}

TEST_CASE("each role is a replicated job, in the order of the ranks") {
  const Exported exported =
      manifest_of("",
                  "env_set = ['none', 'tf']\n[roles.ps]\nreplicas = 2\nrestart = 'always:3'\n"
                  "[roles.worker]\nreplicas = 2\n[roles.chief]\nreplicas = 1\n",
                  jobset)
          .value();
  const size_t chief = exported.text.find("    - name: chief\n");
  const size_t worker = exported.text.find("    - name: worker\n");
  const size_t ps = exported.text.find("    - name: ps\n");
  CHECK(chief < worker);
  CHECK(worker < ps);
  CHECK(ps != std::string::npos);
  CHECK(has_text(exported, "    targetReplicatedJobs: [chief]\n"));
  CHECK(has_text(exported, "          backoffLimit: 3\n"));
  CHECK(has_text(exported, "              restartPolicy: OnFailure\n"));
  CHECK(has_text(exported, "# - the restart of ps after a success\n"));
  CHECK(has_text(exported, "\"mnist-ps-0-0.mnist:2222\",\"mnist-ps-1-0.mnist:2222\""));
  CHECK(!has_text(exported, "dtrain, run"));
}

TEST_CASE("the success of a part of a role is named") {
  const Exported exported = manifest_of("",
                                        "success = 'worker-0'\n[roles.ps]\nreplicas = 1\n"
                                        "[roles.worker]\nreplicas = 2\n",
                                        jobset)
                                .value();
  CHECK(has_text(exported,
                 "# - the success by one of worker alone, since a JobSet waits for whole roles\n"));
}

TEST_CASE("a name that is too long with the random end of a pod's is refused") {
  const auto named = [](size_t length) {
    return manifest_of("nnodes = '2'\n", "name = '" + std::string(length, 'a') + "'\n", jobset);
  };
  // NAME-node-1-0-xxxxx
  CHECK(named(48));
  CHECK(!named(49));
}

}  // namespace
}  // namespace dt

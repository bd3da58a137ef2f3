#include "launcher/export/kubernetes/train_job.h"

#include "base/format.h"
#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

const KubernetesOptions trainjob = {.kind = KubernetesKind::trainjob};

TEST_CASE("a TrainJob has the command, and its runtime the pods") {
  const Exported exported =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n",
                  "max-restarts = 1\n[roles.worker]\nreplicas = 6\nresources = { gpus = 1 }\n",
                  trainjob)
          .value();
  CHECK(has_text(exported, R"(apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: mnist
  labels:
    app.kubernetes.io/name: mnist
spec:
  mlPolicy:
    numNodes: 3
    torch: {}
  template:
    spec:
      network:
        publishNotReadyAddresses: true
      failurePolicy:
        maxRestarts: 1
)"));
  CHECK(has_text(exported, R"(  trainer:
    numNodes: 3
    numProcPerNode: 2
    image: i
    command: [dtrain, run, "--role-gpus", worker=1, "--"]
    args: [python, a.py]
    env:
      - name: DTRAIN_NODES_TOKEN
        valueFrom:
          secretKeyRef:
            name: mnist-dtrain
            key: token
    resourcesPerNode:
      limits:
        nvidia.com/gpu: "2"
)"));
}

TEST_CASE("a runtime of the cluster has the pods, and the text names the parts that it lacks") {
  KubernetesOptions options = trainjob;
  options.runtime = "torch-distributed";
  options.queue = "team";
  const Exported exported =
      manifest_of("nnodes = '2'\nnproc-per-node = 'gpu'\n", "max-restarts = 1\n", options).value();
  CHECK(!has_text(exported, "kind: ClusterTrainingRuntime\nmetadata"));
  CHECK(has_text(exported, "    name: torch-distributed\n"));
  CHECK(has_text(exported, "    kueue.x-k8s.io/queue-name: team\nspec:\n  suspend: true\n"));
  CHECK(has_text(exported, "command: [dtrain, run, \"--nproc-per-node\", gpu, \"--\"]"));
  CHECK(has_text(exported, "# - --max-restarts, which is that of the runtime\n"));
  options.without_dtrain = true;
  CHECK(has_text(manifest_of("nnodes = '2'\n", "", options).value(),
                 "command: [torchrun, \"--no-python\"]"));
}

TEST_CASE("more words than a TrainJob takes are refused") {
  const auto with_variables = [](int count) {
    std::string job = "[env]\n";
    for (int at = 0; at < count; ++at)
      job += format("A{} = '1'\n", at);
    return manifest_of("nnodes = '1'\n", job, trainjob);
  };
  CHECK(with_variables(128));
  CHECK(!with_variables(129));
}

}  // namespace
}  // namespace dt

#include "launcher/export/kubernetes/indexed_job.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

const KubernetesOptions indexed = {.kind = KubernetesKind::indexed_job};

constexpr std::string_view nodes_text =
    R"(# The job of mnist.toml, for Kubernetes as an indexed Job. Start it:
#   kubectl create secret generic mnist-dtrain --from-literal=token=$(dtrain token)
#   kubectl apply -f FILE
apiVersion: v1
kind: Service
metadata:
  name: mnist
  labels:
    app.kubernetes.io/name: mnist
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    batch.kubernetes.io/job-name: mnist
---
apiVersion: batch/v1
kind: Job
metadata:
  name: mnist
  labels:
    app.kubernetes.io/name: mnist
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 3
  backoffLimit: 6
  template:
    metadata:
      labels:
        app.kubernetes.io/name: mnist
    spec:
      subdomain: mnist
      restartPolicy: Never
      terminationGracePeriodSeconds: 30
      containers:
        - name: main
          image: i
          command:
            - dtrain
            - run
            - "--nnodes"
            - "3"
            - "--node-rank"
            - "env:JOB_COMPLETION_INDEX"
            - "--master-addr"
            - mnist-0.mnist
            - "--nproc-per-node"
            - "2"
            - "--env-set"
            - torch
            - "--grace"
            - "20s"
            - "--"
          args: [python, a.py]
          env:
            - name: DTRAIN_NODES_TOKEN
              valueFrom:
                secretKeyRef:
                  name: mnist-dtrain
                  key: token
          volumeMounts:
            - name: shared-memory
              mountPath: /dev/shm
      volumes:
        - name: shared-memory
          emptyDir:
            medium: Memory
)";

TEST_CASE("a job of nodes is an indexed Job with a Service for its first node") {
  const Exported exported =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n",
                  "env_set = ['torch']\ngrace = '20s'\nmax-restarts = 2\n", indexed)
          .value();
  CHECK(exported.text == nodes_text);
  CHECK(exported.left_out.empty());
}

TEST_CASE("one node needs neither Service nor token") {
  const Exported exported = manifest_of("", "np = 2\n", indexed).value();
  CHECK(!has_text(exported, "Service"));
  CHECK(!has_text(exported, "DTRAIN_NODES_TOKEN"));
  CHECK(!has_text(exported, "kubectl create secret"));
  CHECK(has_text(exported, R"(command: [dtrain, run, "--nproc-per-node", "2", "--"])"));
}

TEST_CASE("an image without dtrain gets torchrun, or the variables of one process") {
  KubernetesOptions options = indexed;
  options.without_dtrain = true;
  const Exported torchrun =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n", "timeout = '1h'\n", options).value();
  CHECK(has_text(torchrun,
                 "            - torchrun\n            - \"--nnodes\"\n            - \"3\"\n"
                 "            - \"--node-rank\"\n            - \"$(JOB_COMPLETION_INDEX)\"\n"));
  CHECK(has_text(torchrun, "\n  activeDeadlineSeconds: 3600\n"));
  CHECK(!has_text(torchrun, "DTRAIN_NODES_TOKEN"));
  const Exported plain = manifest_of("nnodes = '3'\nnproc-per-node = '1'\n", "", options).value();
  CHECK(has_text(plain, "command: [python, a.py]"));
  CHECK(has_text(plain, "- name: RANK\n              value: \"$(DTRAIN_TASK_INDEX)\"\n"));
  CHECK(has_text(plain, "- name: MASTER_ADDR\n              value: mnist-0.mnist\n"));
}

TEST_CASE("a name that is too long with the number of a pod is refused") {
  const std::string name = "name = '" + std::string(61, 'a') + "'\n";
  CHECK(manifest_of("nnodes = '10'\n", name, indexed));
  CHECK(!manifest_of("nnodes = '11'\n", name, indexed));
}

}  // namespace
}  // namespace dt

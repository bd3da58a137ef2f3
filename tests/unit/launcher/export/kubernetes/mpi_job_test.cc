#include "launcher/export/kubernetes/mpi_job.h"

#include "tests/unit/launcher/export/kubernetes/fixture.h"

namespace dt {
namespace {

const KubernetesOptions mpijob = {.kind = KubernetesKind::mpijob};

TEST_CASE("the launcher of an MPIJob runs dtrain, and workers have the resources") {
  const Exported exported =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n",
                  "max-restarts = 1\n[roles.worker]\nreplicas = 6\nresources = { cpus = 1 }\n",
                  mpijob)
          .value();
  CHECK(has_text(exported, R"(spec:
  slotsPerWorker: 2
  launcherCreationPolicy: WaitForWorkersReady
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: 1
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
)"));
  CHECK(has_text(exported,
                 "            - name: launcher\n              image: i\n"
                 "              command: [dtrain, run, \"--\"]\n"));
  CHECK(has_text(exported, "    Worker:\n      replicas: 3\n"));
  CHECK(has_text(exported,
                 "            - name: worker\n              image: i\n"
                 "              resources:\n                limits:\n"
                 "                  cpu: \"2\"\n"));
  CHECK(!has_text(exported, "DTRAIN_NODES_TOKEN"));
}

TEST_CASE("without dtrain it is mpirun, and a queue suspends the job in its policy") {
  KubernetesOptions options = mpijob;
  options.without_dtrain = true;
  options.queue = "team";
  const Exported exported =
      manifest_of("nnodes = '3'\nnproc-per-node = '2'\n", "timeout = '90s'\n", options).value();
  // Without -- and options of dtrain, and with the operator's own sshd in the workers.
  CHECK(has_text(exported,
                 "            - name: launcher\n              image: i\n"
                 "              command: [mpirun, \"-n\", \"6\"]\n"
                 "              args: [python, a.py]\n"));
  CHECK(has_text(exported,
                 "    Worker:\n      replicas: 3\n      restartPolicy: Never\n      template:\n"));
  CHECK(has_text(exported, "            - name: worker\n              image: i\n"));
  for (const char* const absent : {"dtrain, run", "DTRAIN_", "PET_", "secretKeyRef"}) {
    CAPTURE(absent);
    CHECK(!has_text(exported, absent));
  }
  CHECK(has_text(exported, "    suspend: true\n    activeDeadlineSeconds: 90\n"));
}

TEST_CASE("the slots of an MPIJob are a number") {
  const auto refused = manifest_of("nnodes = '3'\nnproc-per-node = 'gpu'\n", "", mpijob);
  REQUIRE(!refused);
  CHECK(refused.error().message ==
        "how many processes has each worker? an MPIJob's slots are a number; give "
        "--nproc-per-node N");
}

}  // namespace
}  // namespace dt

#include "launcher/export/kubernetes/mpi_job.h"

#include "base/format.h"
#include "launcher/export/kubernetes/object_names.h"

#include <string>
#include <utility>

namespace dt {
namespace {

YamlValue replica_spec(const KubernetesJob& job, const Pod& pod, int replicas) {
  Pod inner = pod;
  inner.restart_policy.clear();
  return YamlValue::map({{"replicas", YamlValue::number(replicas)},
                         {"restartPolicy", YamlValue::text("Never")},
                         {"template", pod_template(inner, job.surroundings)}});
}

/// Without a command, the operator starts sshd in a worker.
Pod worker_pod(const Pod& launcher) {
  return {.container = "worker", .image = launcher.image, .resources = launcher.resources};
}

PodCommand command_of_launcher(const KubernetesJob& job) {
  if (!job.options.without_dtrain) return dtrain_command(job.job, {}, node_reach(job));
  return other_command(job.job,
                       {"mpirun", "-n", format("{}", job.shape.nodes * job.shape.processes)});
}

YamlValue run_policy(const KubernetesJob& job) {
  YamlValue policy =
      YamlValue::map({{"cleanPodPolicy", YamlValue::text("Running")},
                      {"backoffLimit", YamlValue::number(job.job.config.restarts.max)}});
  add_suspend(job, policy);
  add_deadline(job, policy);
  return policy;
}

}  // namespace

Result<std::vector<YamlValue>> mpi_job_objects(const KubernetesJob& job) {
  if (job.shape.processes == 0) {
    return fail(Errc::input,
                "how many processes has each worker? an MPIJob's slots are a number; give "
                "--nproc-per-node N");
  }
  TRY(check_pod_name(format("{}-worker-{}", job.name, job.shape.nodes - 1), "--name"));
  TRY(check_pod_name(format("{}-launcher-xxxxx", job.name), "--name"));
  const Pod pod = TRY(node_pod(job, command_of_launcher(job)));
  Pod launcher = pod;
  launcher.container = "launcher";
  launcher.resources = {};
  const YamlValue replicas =
      YamlValue::map({{"Launcher", replica_spec(job, launcher, 1)},
                      {"Worker", replica_spec(job, worker_pod(pod), job.shape.nodes)}});
  YamlValue object = object_of("kubeflow.org/v2beta1", "MPIJob", queued_metadata(job));
  object.set("spec",
             YamlValue::map({{"slotsPerWorker", YamlValue::number(job.shape.processes)},
                             {"launcherCreationPolicy", YamlValue::text("WaitForWorkersReady")},
                             {"runPolicy", run_policy(job)},
                             {"mpiReplicaSpecs", replicas}}));
  return std::vector<YamlValue>{std::move(object)};
}

}  // namespace dt

#include "launcher/export/kubernetes/indexed_job.h"

#include "base/format.h"
#include "launcher/export/kubernetes/object_names.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace dt {
namespace {

/// The pods of a headless Service have names before they are ready: node 0 answers only later.
YamlValue service_of_nodes(const KubernetesJob& job) {
  YamlValue service =
      object_of("v1", "Service", object_metadata({.name = job.name, .job = job.name}));
  service.set("spec",
              YamlValue::map({{"clusterIP", YamlValue::text("None")},
                              {"publishNotReadyAddresses", YamlValue::flag(true)},
                              {"selector", YamlValue::map({{"batch.kubernetes.io/job-name",
                                                            YamlValue::text(job.name)}})}}));
  return service;
}

/// Returns the pod of a job without a launcher: one process, with the variables of its rank.
Result<Pod> pod_of_index(KubernetesJob& job) {
  const std::string index = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
  const ExportJob all = with_workers(job.job, job.shape);
  Containers containers = TRY(containers_of(
      all, [&job](const TaskId& id) { return format("{0}-{1}.{0}", job.name, id.index); }));
  job.warnings = std::move(containers.warnings);
  Pod pod =
      TRY(role_pod(containers, containers.plan.roles.front(), {.index = index, .rank = index}));
  pod.resources =
      TRY(pod_resources(all.config.roles.front().resources, 1, all.config.placement.gpu_bind));
  return pod;
}

Result<Pod> pod_of_job(KubernetesJob& job) {
  if (job.options.without_dtrain && job.shape.processes == 1) return pod_of_index(job);
  return node_pod(job, node_command(job, {.rank = "env:JOB_COMPLETION_INDEX",
                                          .reference = "$(JOB_COMPLETION_INDEX)",
                                          .address = format("{0}-0.{0}", job.name)}));
}

/// The end of the job on all nodes is a failure of each pod, so that each start again of all counts
/// once for each node.
int64_t failures_allowed(const KubernetesJob& job) {
  const int64_t all = int64_t{job.job.config.restarts.max} * job.shape.nodes;
  return std::min<int64_t>(all, std::numeric_limits<int32_t>::max());
}

}  // namespace

Result<std::vector<YamlValue>> indexed_job_objects(KubernetesJob& job) {
  TRY(check_pod_name(format("{}-{}", job.name, job.shape.nodes - 1), "--name"));
  Pod pod = TRY(pod_of_job(job));
  std::vector<YamlValue> objects;
  if (job.shape.nodes > 1) {
    pod.subdomain = job.name;
    objects.push_back(service_of_nodes(job));
  }
  YamlValue spec = YamlValue::map({{"completionMode", YamlValue::text("Indexed")},
                                   {"completions", YamlValue::number(job.shape.nodes)},
                                   {"parallelism", YamlValue::number(job.shape.nodes)},
                                   {"backoffLimit", YamlValue::number(failures_allowed(job))}});
  add_suspend(job, spec);
  add_deadline(job, spec);
  spec.set("template", pod_template(pod, job.surroundings));
  YamlValue object = object_of("batch/v1", "Job", queued_metadata(job));
  object.set("spec", std::move(spec));
  objects.push_back(std::move(object));
  return objects;
}

}  // namespace dt

#include "launcher/export/kubernetes/job_set.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/role.h"
#include "launcher/export/kubernetes/object_names.h"
#include "launcher/plan/success_rule.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

namespace dt {
namespace {

constexpr const char* node_job = "node";
/// The rank of a node: its job's number in the whole JobSet.
constexpr const char* global_index = "metadata.labels['jobset.sigs.k8s.io/job-global-index']";
constexpr const char* job_index = "metadata.labels['jobset.sigs.k8s.io/job-index']";

/// Jobs of one pod each, so that the number of a job is that of its pod.
struct ReplicatedJob {
  std::string name;
  int replicas = 1;
  int failures_max = 0;  ///< of each pod, after which it starts again
};

/// The longest name of a pod has five random characters at its end.
Result<> check_pods_of(const KubernetesJob& job, const ReplicatedJob& group) {
  TRY(check_label(group.name, "role"));
  return check_pod_name(format("{}-{}-{}-0-xxxxx", job.name, group.name, group.replicas - 1),
                        "--name");
}

YamlValue replicated_job(const KubernetesJob& job, const ReplicatedJob& group, const Pod& pod) {
  YamlValue spec = YamlValue::map({{"completionMode", YamlValue::text("Indexed")},
                                   {"completions", YamlValue::number(1)},
                                   {"parallelism", YamlValue::number(1)},
                                   {"backoffLimit", YamlValue::number(group.failures_max)}});
  add_deadline(job, spec);
  spec.set("template", pod_template(pod, job.surroundings));
  return YamlValue::map({{"name", YamlValue::text(group.name)},
                         {"replicas", YamlValue::number(group.replicas)},
                         {"template", YamlValue::map({{"spec", std::move(spec)}})}});
}

Result<YamlValue> jobs_of_nodes(const KubernetesJob& job) {
  const ReplicatedJob group = {.name = node_job, .replicas = job.shape.nodes};
  TRY(check_pods_of(job, group));
  const std::string first = format("{0}-{1}-0-0.{0}", job.name, node_job);
  Pod pod = TRY(node_pod(job, node_command(job, {.rank = "env:DTRAIN_NODE_RANK",
                                                 .reference = "$(DTRAIN_NODE_RANK)",
                                                 .address = first})));
  if (job.shape.nodes > 1)
    pod.environment.insert(pod.environment.begin(),
                           variable_of_field("DTRAIN_NODE_RANK", global_index));
  return YamlValue::list({replicated_job(job, group, pod)});
}

/// Sets how often the tasks of a role start again. Kubernetes never starts one again that has
/// succeeded.
void set_restarts(const Role& role, ReplicatedJob& group, Pod& pod,
                  std::vector<std::string>& left_out) {
  if (role.restarts == 0) return;
  pod.restart_policy = "OnFailure";
  group.failures_max = std::min(role.restarts, std::numeric_limits<int32_t>::max());
  if (role.restarts_always)
    left_out.push_back(format("the restart of {} after a success", role.name));
}

Result<YamlValue> jobs_of_roles(KubernetesJob& job, const Containers& containers) {
  YamlValue jobs = YamlValue::list();
  for (const Role& role : containers.plan.roles) {
    ReplicatedJob group = {.name = role.name, .replicas = role.count};
    TRY(check_pods_of(job, group));
    // The jobs stand in the order of the ranks.
    Pod pod = TRY(role_pod(containers, role, {.index = job_index, .rank = global_index}));
    pod.resources = TRY(pod_resources(role.resources, 1, job.job.config.placement.gpu_bind));
    set_restarts(role, group, pod, job.left_out);
    jobs.add(replicated_job(job, group, pod));
  }
  return jobs;
}

/// Returns the roles whose success is that of the job. A JobSet knows only whole roles.
YamlValue deciding_roles(KubernetesJob& job, const Plan& plan) {
  const std::vector<TaskRule> rules = success_rule(plan, job.job.config.success);
  YamlValue roles = YamlValue::list();
  for (const Role& role : plan.roles) {
    int deciding = 0;
    for (size_t at = 0; at < rules.size(); ++at)
      deciding += plan.tasks[at].id.role == role.name && rules[at].decides ? 1 : 0;
    if (deciding == 0) continue;
    roles.add(YamlValue::text(role.name));
    if (deciding < role.count)
      job.left_out.push_back(
          format("the success by {} of {} alone, since a JobSet waits for whole roles",
                 deciding == 1 ? "one" : "some", role.name));
  }
  return roles;
}

/// The parts of a JobSet that depend on what its pods are.
struct JobSetParts {
  YamlValue jobs;
  YamlValue deciding = {};  ///< null: all
};

Result<JobSetParts> parts_of(KubernetesJob& job) {
  const bool are_tasks =
      has_roles(job.job) || (job.options.without_dtrain && job.shape.processes == 1);
  if (!are_tasks) {
    YamlValue nodes = TRY(jobs_of_nodes(job));
    return JobSetParts{.jobs = std::move(nodes)};
  }
  const ExportJob all = has_roles(job.job) ? job.job : with_workers(job.job, job.shape);
  Containers containers = TRY(containers_of(all, [&job](const TaskId& id) {
    return format("{0}-{1}-{2}-0.{0}", job.name, id.role, id.index);
  }));
  job.warnings = std::move(containers.warnings);
  YamlValue jobs = TRY(jobs_of_roles(job, containers));
  return JobSetParts{.jobs = std::move(jobs), .deciding = deciding_roles(job, containers.plan)};
}

}  // namespace

Result<std::vector<YamlValue>> job_set_objects(KubernetesJob& job) {
  JobSetParts parts = TRY(parts_of(job));
  YamlValue spec = YamlValue::map();
  add_suspend(job, spec);
  spec.set("network", YamlValue::map({{"enableDNSHostnames", YamlValue::flag(true)},
                                      {"publishNotReadyAddresses", YamlValue::flag(true)},
                                      {"subdomain", YamlValue::text(job.name)}}));
  const uint32_t restarts = job.job.config.restarts.max;
  spec.set("failurePolicy", YamlValue::map({{"maxRestarts", YamlValue::number(restarts)}}));
  if (!parts.deciding.items().empty())
    spec.set("successPolicy",
             YamlValue::map({{"operator", YamlValue::text("All")},
                             {"targetReplicatedJobs", std::move(parts.deciding)}}));
  spec.set("replicatedJobs", std::move(parts.jobs));
  YamlValue object = object_of("jobset.x-k8s.io/v1alpha2", "JobSet", queued_metadata(job));
  object.set("spec", std::move(spec));
  return std::vector<YamlValue>{std::move(object)};
}

}  // namespace dt

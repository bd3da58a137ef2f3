#include "launcher/export/kubernetes/train_job.h"

#include "base/format.h"
#include "launcher/export/kubernetes/object_names.h"

#include <cstddef>
#include <string>
#include <utility>

namespace dt {
namespace {

constexpr const char* trainer_version = "trainer.kubeflow.org/v1alpha1";
constexpr const char* runtime_kind = "ClusterTrainingRuntime";
/// The names by which Trainer finds the job and the container of the nodes.
constexpr const char* trainer_node = "node";

/// Returns the words between "dtrain run" and the options: Trainer gives nodes all but these by
/// PET_*.
PodCommand command_of_trainer(const KubernetesJob& job) {
  if (job.options.without_dtrain) return other_command(job.job, {"torchrun", "--no-python"});
  const bool is_word = job.shape.per_node == "gpu" || job.shape.per_node == "cpu";
  std::vector<std::string> words;
  if (is_word) words = {"--nproc-per-node", job.shape.per_node};
  return dtrain_command(job.job, words, node_reach(job));
}

/// Returns a runtime with the parts of the pods that a TrainJob does not have.
YamlValue runtime_of(const KubernetesJob& job, const Pod& pod) {
  const Pod node = {.container = trainer_node, .image = pod.image};
  YamlValue job_spec = YamlValue::map({{"backoffLimit", YamlValue::number(0)}});
  add_deadline(job, job_spec);
  job_spec.set("template", pod_template(node, job.surroundings));
  const YamlValue step =
      YamlValue::map({{"trainer.kubeflow.org/trainjob-ancestor-step", YamlValue::text("trainer")}});
  const YamlValue job_template =
      YamlValue::map({{"metadata", YamlValue::map({{"labels", step}})}, {"spec", job_spec}});
  const YamlValue nodes =
      YamlValue::map({{"name", YamlValue::text(trainer_node)}, {"template", job_template}});
  const YamlValue network = YamlValue::map({{"publishNotReadyAddresses", YamlValue::flag(true)}});
  const YamlValue restarts =
      YamlValue::map({{"maxRestarts", YamlValue::number(job.job.config.restarts.max)}});
  const YamlValue set = YamlValue::map({{"network", network},
                                        {"failurePolicy", restarts},
                                        {"replicatedJobs", YamlValue::list({nodes})}});
  const YamlValue policy = YamlValue::map(
      {{"numNodes", YamlValue::number(job.shape.nodes)}, {"torch", YamlValue::map()}});
  YamlValue runtime = object_of(trainer_version, runtime_kind,
                                object_metadata({.name = job.name, .job = job.name}));
  runtime.set("spec", YamlValue::map(
                          {{"mlPolicy", policy}, {"template", YamlValue::map({{"spec", set}})}}));
  return runtime;
}

YamlValue trainer_of(const KubernetesJob& job, const Pod& pod) {
  YamlValue trainer = YamlValue::map({{"numNodes", YamlValue::number(job.shape.nodes)}});
  if (job.shape.processes > 0)
    trainer.set("numProcPerNode", YamlValue::number(job.shape.processes));
  trainer.set("image", YamlValue::text(pod.image));
  trainer.set("command", YamlValue::list(pod.command));
  trainer.set("args", YamlValue::list(pod.arguments));
  if (!pod.environment.empty()) trainer.set("env", variable_list(pod.environment));
  YamlValue limits = resource_limits(pod.resources);
  if (limits.kind() != YamlValue::Kind::none) trainer.set("resourcesPerNode", std::move(limits));
  return trainer;
}

/// A TrainJob takes so many words and variables.
Result<> check_lengths(const Pod& pod) {
  constexpr size_t items_max = 128;
  struct Length {
    const char* what;
    size_t items;
  };
  for (const auto& [what, items] : {Length{"words of dtrain", pod.command.size()},
                                    Length{"words of the command", pod.arguments.size()},
                                    Length{"variables", pod.environment.size()}}) {
    if (items <= items_max) continue;
    return fail(Errc::input, format("a TrainJob takes at most {} {}, and the job has {}; write: "
                                    "--kind jobset",
                                    items_max, what, items));
  }
  return {};
}

void list_parts_of_runtime(KubernetesJob& job) {
  job.left_out.push_back(
      format("mounts, code, the folder and the time of --grace, which are those of the runtime {}",
             job.options.runtime));
  if (job.job.config.restarts.max > 0)
    job.left_out.emplace_back("--max-restarts, which is that of the runtime");
}

}  // namespace

Result<std::vector<YamlValue>> train_job_objects(KubernetesJob& job) {
  TRY(check_pod_name(format("{}-{}-0-{}-xxxxx", job.name, trainer_node, job.shape.nodes - 1),
                     "--name"));
  const Pod pod = TRY(node_pod(job, command_of_trainer(job)));
  TRY(check_lengths(pod));
  std::vector<YamlValue> objects;
  const bool has_runtime = !job.options.runtime.empty();
  if (has_runtime) {
    TRY(check_object_name(job.options.runtime, "--runtime"));
    list_parts_of_runtime(job);
  } else {
    objects.push_back(runtime_of(job, pod));
  }
  YamlValue spec = YamlValue::map();
  add_suspend(job, spec);
  const std::string& runtime = has_runtime ? job.options.runtime : job.name;
  spec.set("runtimeRef", YamlValue::map({{"apiGroup", YamlValue::text("trainer.kubeflow.org")},
                                         {"kind", YamlValue::text(runtime_kind)},
                                         {"name", YamlValue::text(runtime)}}));
  spec.set("trainer", trainer_of(job, pod));
  YamlValue object = object_of(trainer_version, "TrainJob", queued_metadata(job));
  object.set("spec", std::move(spec));
  objects.push_back(std::move(object));
  return objects;
}

}  // namespace dt

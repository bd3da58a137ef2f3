#include "launcher/export/kubernetes/kubernetes_job.h"

#include "base/format.h"
#include "launcher/config/option_value.h"
#include "launcher/config/options.h"
#include "launcher/config/role.h"
#include "launcher/export/kubernetes/object_names.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dt {
namespace {

/// True for a job whose nodes have their token from a file, or need none.
bool needs_no_secret(const ExportJob& job) {
  return std::ranges::any_of(job.options, [](const DecidedOption& one) {
    const OptionValue given = {
        .name = one.option->name, .values = &one.values, .origin = one.origin};
    if (one.option->name == "no-token") return given.flag().value_or(false);
    return one.option->name == "token-file";
  });
}

}  // namespace

bool has_roles(const ExportJob& job) {
  return job.config.roles.size() > 1 || job.config.roles.front().name != Role().name;
}

bool has_launcher(const KubernetesJob& job) {
  return !job.options.without_dtrain && !has_roles(job.job);
}

NodeReach node_reach(const KubernetesJob& job) {
  if (job.options.kind == KubernetesKind::mpijob) return NodeReach::ssh;
  return job.shape.nodes > 1 ? NodeReach::dialed : NodeReach::alone;
}

bool needs_token(const KubernetesJob& job) {
  return has_launcher(job) && node_reach(job) == NodeReach::dialed && !needs_no_secret(job.job);
}

void add_suspend(const KubernetesJob& job, YamlValue& spec) {
  if (!job.options.queue.empty()) spec.set("suspend", YamlValue::flag(true));
}

YamlValue queued_metadata(const KubernetesJob& job) {
  YamlValue labels = YamlValue::map({{"app.kubernetes.io/name", YamlValue::text(job.name)}});
  if (!job.options.queue.empty())
    labels.set("kueue.x-k8s.io/queue-name", YamlValue::text(job.options.queue));
  return YamlValue::map({{"name", YamlValue::text(job.name)}, {"labels", std::move(labels)}});
}

YamlValue object_of(std::string_view version, std::string_view kind, YamlValue metadata) {
  return YamlValue::map({{"apiVersion", YamlValue::text(version)},
                         {"kind", YamlValue::text(kind)},
                         {"metadata", std::move(metadata)}});
}

void add_deadline(const KubernetesJob& job, YamlValue& spec) {
  if (has_launcher(job) || !job.job.config.timeout) return;
  spec.set(
      "activeDeadlineSeconds",
      YamlValue::number(std::chrono::ceil<std::chrono::seconds>(*job.job.config.timeout).count()));
}

Result<Pod> node_pod(const KubernetesJob& job, PodCommand command) {
  const RunConfig& config = job.job.config;
  const Role& role = config.roles.front();
  Pod pod = {.image = image_of(config, role),
             .command = std::move(command.launcher),
             .arguments = std::move(command.arguments),
             .environment = user_pod_variables(job.job)};
  if (needs_token(job)) {
    pod.environment.insert(
        pod.environment.begin(),
        variable_of_secret("DTRAIN_NODES_TOKEN", secret_name(job.job, job.options)));
  }
  pod.resources = TRY(
      pod_resources(role.resources, std::max(job.shape.processes, 1), config.placement.gpu_bind));
  return pod;
}

PodCommand node_command(const KubernetesJob& job, const NodePlace& place) {
  const NodeShape& shape = job.shape;
  if (job.options.without_dtrain) {
    std::vector<std::string> words = {"torchrun"};
    if (shape.nodes > 1) {
      words.insert(words.end(), {"--nnodes", format("{}", shape.nodes), "--node-rank",
                                 place.reference, "--master-addr", place.address});
    }
    words.insert(words.end(), {"--nproc-per-node", shape.per_node, "--no-python"});
    return other_command(job.job, std::move(words));
  }
  std::vector<std::string> words;
  if (shape.nodes > 1) {
    words = {"--nnodes", shape.nnodes, "--node-rank", place.rank, "--master-addr", place.address};
  }
  words.insert(words.end(), {"--nproc-per-node", shape.per_node});
  return dtrain_command(job.job, words, node_reach(job));
}

}  // namespace dt

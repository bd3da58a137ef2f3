#include "launcher/export/kubernetes/kubernetes_manifest.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/text.h"
#include "launcher/export/containers.h"
#include "launcher/export/kubernetes/indexed_job.h"
#include "launcher/export/kubernetes/job_set.h"
#include "launcher/export/kubernetes/kubernetes_job.h"
#include "launcher/export/kubernetes/manifest_checks.h"
#include "launcher/export/kubernetes/mpi_job.h"
#include "launcher/export/kubernetes/object_names.h"
#include "launcher/export/kubernetes/pod_volumes.h"
#include "launcher/export/kubernetes/train_job.h"
#include "launcher/export/left_out.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

/// dtrain itself ends its tasks after --grace; a pod gets that, and time for its own end.
int64_t pod_grace_seconds(Duration grace) {
  constexpr Duration more = seconds(10);
  return std::chrono::ceil<std::chrono::seconds>(grace + more).count();
}

std::string_view object_name_of(KubernetesKind kind) {
  switch (kind) {
    case KubernetesKind::jobset:
      return "a JobSet";
    case KubernetesKind::trainjob:
      return "a TrainJob";
    case KubernetesKind::mpijob:
      return "an MPIJob";
    case KubernetesKind::indexed_job:
      break;
  }
  return "an indexed Job";
}

Result<std::vector<YamlValue>> objects_of(KubernetesJob& job) {
  switch (job.options.kind) {
    case KubernetesKind::jobset:
      return job_set_objects(job);
    case KubernetesKind::trainjob:
      return train_job_objects(job);
    case KubernetesKind::mpijob:
      return mpi_job_objects(job);
    case KubernetesKind::indexed_job:
      break;
  }
  return indexed_job_objects(job);
}

/// Lists the variables whose values only the user's environment has.
void list_passed_variables(const ExportJob& job, std::vector<std::string>& left_out) {
  std::set<std::string> passed;
  for (const Role& role : job.config.roles)
    for (const std::string& name : user_variables(job.config, role).passed)
      passed.insert(name);
  for (const std::string& name : passed)
    left_out.push_back(format("the value of {}, which is not in the job", name));
}

/// Lists what the manifest lacks, whatever its kind is.
void list_common_left_out(const KubernetesJob& job, std::vector<std::string>& left_out) {
  const RunConfig& config = job.job.config;
  const bool is_launched = has_launcher(job);
  const auto is_here = [](const Host& host) { return host.name == "localhost"; };
  if (!std::ranges::all_of(config.hosts, is_here) || !config.host_source.program.empty())
    left_out.emplace_back("the names of the hosts, since Kubernetes chooses the nodes");
  if (!is_launched)
    left_out.emplace_back(
        "the rendezvous of dtrain run, by which programs of libdtrain, Horovod and MPI meet");
  const bool is_range = job.shape.nnodes.find(':') != std::string::npos;
  const bool starts_with_all = !is_launched || job.options.kind == KubernetesKind::trainjob ||
                               job.options.kind == KubernetesKind::mpijob;
  if (is_range && starts_with_all)
    left_out.push_back(format("the least number of nodes in {}", job.shape.nnodes));
  const bool names_secret = job.options.with_secret || !job.options.secret.empty();
  if (names_secret && !needs_token(job))
    left_out.emplace_back("the Secret, since no node of this job takes a token from one");
  list_passed_variables(job.job, left_out);
  const auto part = [&](std::string_view option) {
    return is_launched ? part_in_pods(option, node_reach(job)) : part_in_plain_pods(option);
  };
  if (std::string options = options_left_out(job.job.options, part); !options.empty())
    left_out.push_back(std::move(options));
}

/// Returns the Secret of --with-secret.
YamlValue secret_object(const KubernetesJob& job, const std::string& token) {
  const std::string name = secret_name(job.job, job.options);
  YamlValue secret = object_of("v1", "Secret", object_metadata({.name = name, .job = job.name}));
  secret.set("type", YamlValue::text("Opaque"));
  secret.set("stringData", YamlValue::map({{"token", YamlValue::text(token)}}));
  return secret;
}

/// Returns the comment at the top.
std::string manifest_head(const KubernetesJob& job, const std::vector<std::string>& left_out) {
  const std::string& output = job.job.output;
  std::string head = format("# The job of {}, for Kubernetes as {}. Start it:\n",
                            job.job.source.empty() ? "a command line" : printable(job.job.source),
                            object_name_of(job.options.kind));
  if (needs_token(job) && !job.options.with_secret) {
    head += format("#   kubectl create secret generic {} --from-literal=token=$(dtrain token)\n",
                   secret_name(job.job, job.options));
  }
  head +=
      format("#   kubectl apply -f {}\n", output.empty() ? "FILE" : shell_quote(printable(output)));
  if (!left_out.empty()) head += "# Not expressed here:\n";
  for (const std::string& one : left_out)
    head += format("# - {}\n", printable(one, 400));
  return head;
}

Result<std::string> text_of_objects(const std::vector<YamlValue>& objects) {
  std::string text;
  for (const YamlValue& object : objects) {
    const std::string one = TRY(yaml_text(object));
    if (!text.empty()) text += "---\n";
    text += one;
  }
  // The store of a cluster takes requests of 1.5 MiB.
  constexpr size_t manifest_bytes_max = size_t{1} << 20;
  if (text.size() <= manifest_bytes_max) return text;
  return fail(Errc::input, format("the manifest has {} bytes, and a cluster takes {}; put large "
                                  "values into files of a mount",
                                  text.size(), manifest_bytes_max));
}

Result<NodeShape> shape_of(const ExportJob& job) {
  if (has_roles(job)) return NodeShape{.nodes = 1};
  return node_shape(job);
}

}  // namespace

Result<Exported> kubernetes_manifest(const ExportJob& job, const KubernetesOptions& options,
                                     const std::string& token) {
  TRY(check_manifest_job(job, options));
  NodeShape shape = TRY(shape_of(job));
  PodVolumes volumes = TRY(pod_volumes(job, options));
  KubernetesJob all = {.job = job,
                       .options = options,
                       .name = kubernetes_name(job),
                       .shape = std::move(shape),
                       .surroundings = {.job = kubernetes_name(job),
                                        .grace_seconds = pod_grace_seconds(job.config.grace),
                                        .folder = working_folder(job),
                                        .volumes = std::move(volumes.all)}};
  // The launcher in the pods would refuse them.
  if (has_launcher(all) && all.shape.processes > 0) TRY(check_tasks(with_workers(job, all.shape)));
  std::vector<YamlValue> objects = TRY(objects_of(all));
  objects.insert(objects.begin(), volumes.objects.begin(), volumes.objects.end());
  Exported exported = {.text = {}, .left_out = {}, .warnings = std::move(volumes.warnings)};
  list_common_left_out(all, exported.left_out);
  for (auto* const more : {&volumes.left_out, &all.left_out})
    std::ranges::move(*more, std::back_inserter(exported.left_out));
  std::ranges::move(all.warnings, std::back_inserter(exported.warnings));
  if (options.with_secret && needs_token(all))
    objects.insert(objects.begin(), secret_object(all, token));
  const std::string text = TRY(text_of_objects(objects));
  exported.text = manifest_head(all, exported.left_out) + text;
  return exported;
}

}  // namespace dt

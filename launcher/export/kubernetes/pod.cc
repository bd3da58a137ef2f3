#include "launcher/export/kubernetes/pod.h"

#include "base/format.h"

#include <cstddef>
#include <utility>

namespace dt {
namespace {

/// True for a byte behind a $ that Kubernetes does not leave as it is. It takes the first byte of
/// a character of several for a character of its own.
bool has_meaning_behind_dollar(char c) {
  return c == '$' || c == '(' || static_cast<unsigned char>(c) >= 0x80;
}

/// Memory of the container itself at /dev/shm. The 64 MiB of a runtime are too few for ranks and
/// for loaders of data, which share memory there.
PodVolume shared_memory() {
  return {.source = YamlValue::map(
              {{"name", YamlValue::text("shared-memory")},
               {"emptyDir", YamlValue::map({{"medium", YamlValue::text("Memory")}})}}),
          .target = "/dev/shm"};
}

YamlValue mount_of(const PodVolume& volume) {
  YamlValue mount = YamlValue::map(
      {{"name", volume.source.items().front()}, {"mountPath", YamlValue::text(volume.target)}});
  if (volume.read_only) mount.set("readOnly", YamlValue::flag(true));
  return mount;
}

/// Returns "4Gi": Kubernetes takes 4G for 4,000,000,000.
std::string binary_size(uint64_t bytes) {
  const std::string text = memory_text(bytes);
  const bool has_unit = text.back() >= 'A' && text.back() <= 'Z';
  return has_unit ? text + "i" : text;
}

YamlValue container_value(const Pod& pod, const PodSurroundings& surroundings,
                          const std::vector<PodVolume>& volumes) {
  YamlValue container = YamlValue::map({{"name", YamlValue::text(pod.container)}});
  if (!pod.image.empty()) container.set("image", YamlValue::text(pod.image));
  if (!pod.command.empty()) container.set("command", YamlValue::list(pod.command));
  if (!pod.arguments.empty()) container.set("args", YamlValue::list(pod.arguments));
  if (!surroundings.folder.empty())
    container.set("workingDir", YamlValue::text(surroundings.folder));
  if (!pod.environment.empty()) container.set("env", variable_list(pod.environment));
  YamlValue limits = resource_limits(pod.resources);
  if (limits.kind() != YamlValue::Kind::none) container.set("resources", std::move(limits));
  YamlValue mounts = YamlValue::list();
  for (const PodVolume& volume : volumes)
    mounts.add(mount_of(volume));
  container.set("volumeMounts", std::move(mounts));
  return container;
}

YamlValue labels_of(std::string_view job) {
  return YamlValue::map({{"app.kubernetes.io/name", YamlValue::text(job)}});
}

}  // namespace

std::string literal_text(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    const bool is_dollar = text[at] == '$' && at + 1 < text.size();
    if (is_dollar && has_meaning_behind_dollar(text[at + 1])) result += '$';
  }
  return result;
}

std::vector<std::string> literal_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  result.reserve(texts.size());
  for (const std::string& text : texts)
    result.push_back(literal_text(text));
  return result;
}

PodVariable variable_of_text(std::string_view name, std::string_view text) {
  return {.name = std::string(name), .value = YamlValue::map({{"value", YamlValue::text(text)}})};
}

PodVariable variable_of_field(std::string_view name, std::string_view field) {
  const YamlValue path = YamlValue::map({{"fieldPath", YamlValue::text(field)}});
  return {.name = std::string(name),
          .value = YamlValue::map({{"valueFrom", YamlValue::map({{"fieldRef", path}})}})};
}

PodVariable variable_of_secret(std::string_view name, std::string_view secret) {
  const YamlValue key =
      YamlValue::map({{"name", YamlValue::text(secret)}, {"key", YamlValue::text("token")}});
  return {.name = std::string(name),
          .value = YamlValue::map({{"valueFrom", YamlValue::map({{"secretKeyRef", key}})}})};
}

Result<PodResources> pod_resources(const RoleResources& each, int processes, GpuBind bind) {
  if (each.gpus && each.gpus->shares()) {
    return fail(Errc::input, format("GPUs: {} of a GPU for each process; Kubernetes gives pods "
                                    "whole ones; give a whole number",
                                    each.gpus->text()));
  }
  const int bound = bind == GpuBind::rank ? 1 : 0;
  return PodResources{.cpus = each.cpus * processes,
                      .gpus = (each.gpus ? each.gpus->whole : bound) * processes,
                      .memory_bytes = each.memory_bytes * static_cast<uint64_t>(processes)};
}

YamlValue resource_limits(const PodResources& resources) {
  YamlValue limits = YamlValue::map();
  if (resources.cpus > 0) limits.set("cpu", YamlValue::text(format("{}", resources.cpus)));
  if (resources.memory_bytes > 0)
    limits.set("memory", YamlValue::text(binary_size(resources.memory_bytes)));
  if (resources.gpus > 0)
    limits.set("nvidia.com/gpu", YamlValue::text(format("{}", resources.gpus)));
  if (limits.items().empty()) return {};
  return YamlValue::map({{"limits", std::move(limits)}});
}

YamlValue variable_list(const std::vector<PodVariable>& variables) {
  YamlValue all = YamlValue::list();
  for (const PodVariable& variable : variables) {
    YamlValue one = YamlValue::map({{"name", YamlValue::text(variable.name)}});
    one.set(variable.value.keys().front(), variable.value.items().front());
    all.add(std::move(one));
  }
  return all;
}

YamlValue object_metadata(const ObjectName& object) {
  return YamlValue::map(
      {{"name", YamlValue::text(object.name)}, {"labels", labels_of(object.job)}});
}

YamlValue pod_template(const Pod& pod, const PodSurroundings& surroundings) {
  std::vector<PodVolume> volumes = surroundings.volumes;
  volumes.push_back(shared_memory());
  YamlValue spec = YamlValue::map();
  if (!pod.subdomain.empty()) spec.set("subdomain", YamlValue::text(pod.subdomain));
  if (!pod.restart_policy.empty()) spec.set("restartPolicy", YamlValue::text(pod.restart_policy));
  spec.set("terminationGracePeriodSeconds", YamlValue::number(surroundings.grace_seconds));
  spec.set("containers", YamlValue::list({container_value(pod, surroundings, volumes)}));
  YamlValue sources = YamlValue::list();
  for (PodVolume& volume : volumes)
    sources.add(std::move(volume.source));
  spec.set("volumes", std::move(sources));
  return YamlValue::map(
      {{"metadata", YamlValue::map({{"labels", labels_of(surroundings.job)}})}, {"spec", spec}});
}

}  // namespace dt

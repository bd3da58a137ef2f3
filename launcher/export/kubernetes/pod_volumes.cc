#include "launcher/export/kubernetes/pod_volumes.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/mounts/mount.h"
#include "launcher/export/containers.h"
#include "launcher/export/kubernetes/code_map.h"
#include "launcher/export/kubernetes/object_names.h"

#include <set>
#include <utility>

namespace dt {
namespace {

PodVolume volume_of_claim(const Mount& claim, std::string_view name) {
  YamlValue source = YamlValue::map({{"claimName", YamlValue::text(claim.source)}});
  if (claim.read_only) source.set("readOnly", YamlValue::flag(true));
  return {.source = YamlValue::map(
              {{"name", YamlValue::text(name)}, {"persistentVolumeClaim", std::move(source)}}),
          .target = claim.target,
          .read_only = claim.read_only};
}

Result<PodVolume> volume_of_nfs(const Mount& mount, std::string_view name) {
  const NfsExport from = TRY(parse_nfs_export(mount.source));
  YamlValue source = YamlValue::map(
      {{"server", YamlValue::text(from.server)}, {"path", YamlValue::text(from.path)}});
  if (mount.read_only) source.set("readOnly", YamlValue::flag(true));
  return PodVolume{
      .source = YamlValue::map({{"name", YamlValue::text(name)}, {"nfs", std::move(source)}}),
      .target = mount.target,
      .read_only = mount.read_only};
}

PodVolume volume_of_host(const Mount& mount, std::string_view name) {
  const YamlValue source = YamlValue::map(
      {{"path", YamlValue::text(mount.source)}, {"type", YamlValue::text("Directory")}});
  return {.source = YamlValue::map({{"name", YamlValue::text(name)}, {"hostPath", source}}),
          .target = mount.target,
          .read_only = mount.read_only};
}

/// Adds a mount of the job. Kubernetes has no shell on the nodes for a command that mounts.
Result<> add_job_mount(const Mount& mount, PodVolumes& volumes) {
  if (!mount.command.empty()) {
    volumes.left_out.push_back(format("the mount of {} at {}, which a command makes",
                                      printable(mount.source), printable(mount.target)));
    return {};
  }
  const std::string name = format("mount-{}", volumes.all.size());
  if (mount.source.starts_with(nfs_scheme)) {
    PodVolume volume = TRY(volume_of_nfs(mount, name));
    volumes.all.push_back(std::move(volume));
    return {};
  }
  volumes.warnings.push_back(
      format("the mount of {} is a folder of each node, by hostPath: every node must have it, and "
             "many clusters refuse it; --claim NAME:{} takes a PersistentVolumeClaim",
             printable(mount.source), printable(mount.target)));
  volumes.all.push_back(volume_of_host(mount, name));
  return {};
}

void list_missing_code(const ExportJob& job, PodVolumes& volumes) {
  const RunConfig& config = job.config;
  if (config.sync && config.sync->repository) {
    volumes.left_out.push_back(format("the code of {}, which the image must have",
                                      printable(name_of_repository(*config.sync->repository))));
  }
  if (config.chdir && !job.code && !config.chdir->starts_with('/'))
    volumes.left_out.push_back(
        format("the folder {} of this machine, which pods do not have", *config.chdir));
}

/// Adds the code, or the reason why the text lacks it.
void add_code(const ExportJob& job, PodVolumes& volumes) {
  if (!job.code) return list_missing_code(job, volumes);
  const std::string target = code_target(job.config);
  if (job.code->bytes > code_bytes_max) {
    volumes.left_out.push_back(
        format("the code of {} bytes, since a ConfigMap has at most {}; the image must have it at "
               "{}",
               job.code->bytes, code_bytes_max, printable(target)));
    return;
  }
  CodeMap map = code_map(job.code->files, kubernetes_name(job));
  volumes.objects.push_back(std::move(map.object));
  volumes.all.push_back({.source = std::move(map.volume), .target = target, .read_only = true});
  for (const std::string& path : map.left_out)
    volumes.left_out.push_back(format("the file {} of the code", printable(path)));
}

Result<> check_places(const std::vector<PodVolume>& volumes) {
  std::set<std::string> targets;
  for (const PodVolume& volume : volumes) {
    if (volume.target.find(':') != std::string::npos) {
      return fail(Errc::input, format("the mount at {}: Kubernetes takes no : in the place of a "
                                      "mount; give another folder",
                                      printable(volume.target)));
    }
    if (targets.insert(volume.target).second) continue;
    return fail(Errc::input, format("two mounts have the target {}", printable(volume.target)));
  }
  return {};
}

}  // namespace

Result<PodVolumes> pod_volumes(const ExportJob& job, const KubernetesOptions& options) {
  PodVolumes volumes;
  add_code(job, volumes);
  for (const Mount& claim : options.claims) {
    TRY(check_object_name(claim.source, "--claim"));
    volumes.all.push_back(volume_of_claim(claim, format("claim-{}", volumes.all.size())));
  }
  for (const Mount& mount : job.config.mounts)
    TRY(add_job_mount(mount, volumes));
  TRY(check_places(volumes.all));
  return volumes;
}

}  // namespace dt

#include "launcher/export/kubernetes/manifest_checks.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/role.h"
#include "launcher/export/containers.h"
#include "launcher/export/kubernetes/image_name.h"
#include "launcher/export/kubernetes/kubernetes_job.h"
#include "launcher/export/kubernetes/object_names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dt {
namespace {

Result<> check_layout(const ExportJob& job) {
  if (!job.config.external_cluster) return {};
  return fail(Errc::input, format("{}: it lays out hosts, and pods have addresses of their own; "
                                  "leave it out, and give roles",
                                  job.config.external_cluster->origin));
}

Result<> check_kind(const ExportJob& job, const KubernetesOptions& options) {
  const std::string kind = kubernetes_kind_name(options.kind);
  if (has_roles(job) && options.kind != KubernetesKind::jobset) {
    return fail(Errc::input, format("the roles {}: the pods of {} are equal; write: --kind jobset",
                                    roles_text(job.config.roles), kind));
  }
  if (!options.runtime.empty() && options.kind != KubernetesKind::trainjob) {
    return fail(Errc::input, format("--runtime {}: only a trainjob has a runtime; write: --kind "
                                    "trainjob, or leave it out",
                                    printable(options.runtime)));
  }
  return {};
}

/// The name of a queue is one of an object, and the value of a label.
Result<> check_queue(const std::string& name) {
  constexpr size_t label_bytes_max = 63;
  if (name.size() <= label_bytes_max) return check_object_name(name, "--queue");
  return fail(Errc::input, format("--queue: the name has {} bytes, and the label of a queue may "
                                  "have {}; use a queue with a shorter name",
                                  name.size(), label_bytes_max));
}

Result<> check_names_of_objects(const ExportJob& job, const KubernetesOptions& options) {
  TRY(check_label(kubernetes_name(job),
                  job.source.empty() ? "--name" : "--name, or the file's own,"));
  TRY(check_object_name(secret_name(job, options), "--secret"));
  if (!options.queue.empty()) TRY(check_queue(options.queue));
  return {};
}

Result<> check_manifest_images(const ExportJob& job) {
  for (const Role& role : job.config.roles) {
    const std::string& image = image_of(job.config, role);
    if (is_image_name(image)) continue;
    if (image.empty()) {
      return fail(
          Errc::input,
          format("role {0}: a pod needs an image; add image = \"NAME:TAG\" to the file, there "
                 "or in [roles.{0}], or give --image NAME:TAG",
                 role.name));
    }
    return fail(Errc::input,
                format("role {}: no cluster can pull the image \"{}\": Kubernetes takes "
                       "[HOST[:PORT]/]NAME[:TAG][@DIGEST] without blanks, and a NAME of lower-case "
                       "letters, digits, ., _, - and /; correct the name",
                       role.name, printable(image)));
  }
  return {};
}

Result<> check_variable(std::string_view name, std::string_view value) {
  // Linux starts no program with a longer one, which has a NUL at its end.
  constexpr size_t variable_bytes_max = (size_t{128} << 10) - 1;
  const bool starts_with_digit = name.front() >= '0' && name.front() <= '9';
  if (starts_with_digit || !std::ranges::all_of(name, is_of_key)) {
    return fail(Errc::input,
                format("the variable {}: Kubernetes takes names of letters, digits, _, "
                       "- and ., and no digit first",
                       printable(name)));
  }
  const size_t bytes = name.size() + 1 + value.size();
  if (bytes <= variable_bytes_max) return {};
  return fail(Errc::input, format("the variable {} has {} bytes, and a program may get one of {}; "
                                  "put it into a file of a mount",
                                  printable(name), bytes, variable_bytes_max));
}

/// Fails for a variable by which the nodes of a manifest find each other.
Result<> check_own_variable(std::string_view name) {
  const bool is_own =
      name == "DTRAIN_NODES_TOKEN" || name == "DTRAIN_NODE_RANK" || name.starts_with("PET_");
  if (!is_own) return {};
  return fail(
      Errc::input,
      format("the variable {}: the manifest has it for its nodes; leave it out", printable(name)));
}

Result<> check_variables(const ExportJob& job) {
  for (const Role& role : job.config.roles) {
    for (const auto& [name, value] : user_variables(job.config, role).values) {
      TRY(check_variable(name, value));
      TRY(check_own_variable(name));
    }
  }
  return {};
}

}  // namespace

Result<> check_manifest_job(const ExportJob& job, const KubernetesOptions& options) {
  TRY(check_layout(job));
  TRY(check_kind(job, options));
  TRY(check_names_of_objects(job, options));
  TRY(check_manifest_images(job));
  return check_variables(job);
}

}  // namespace dt

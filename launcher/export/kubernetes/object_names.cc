#include "launcher/export/kubernetes/object_names.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cstddef>

namespace dt {
namespace {

constexpr size_t label_bytes_max = 63;
constexpr size_t name_bytes_max = 253;

bool is_small_letter(char c) {
  return c >= 'a' && c <= 'z';
}

bool is_of_label(char c) {
  return is_small_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

/// True for a part of a name between dots.
bool is_name_part(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(text, is_of_label);
}

}  // namespace

std::string kubernetes_name(const ExportJob& job) {
  return job.config.name.empty() ? "dtrain" : job.config.name;
}

std::string secret_name(const ExportJob& job, const KubernetesOptions& options) {
  return options.secret.empty() ? kubernetes_name(job) + "-dtrain" : options.secret;
}

bool is_of_key(char c) {
  return is_of_label(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

Result<> check_label(std::string_view name, std::string_view what) {
  const bool is_label =
      is_name_part(name) && name.size() <= label_bytes_max && is_small_letter(name.front());
  if (is_label) return {};
  return fail(Errc::input,
              format("{} \"{}\": Kubernetes takes 1 to {} lower-case letters, digits and - between "
                     "them, and a letter first",
                     what, printable(name), label_bytes_max));
}

Result<> check_object_name(std::string_view name, std::string_view what) {
  const bool is_name =
      name.size() <= name_bytes_max && std::ranges::all_of(split(name, '.'), is_name_part);
  if (is_name) return {};
  return fail(Errc::input,
              format("{} \"{}\": Kubernetes takes lower-case letters, digits, - and . between them",
                     what, printable(name)));
}

Result<> check_pod_name(std::string_view longest, std::string_view what) {
  if (longest.size() <= label_bytes_max) return {};
  return fail(Errc::input,
              format("{}: the name of a pod would be {}, which has more than {} bytes; shorten it",
                     what, longest, label_bytes_max));
}

}  // namespace dt

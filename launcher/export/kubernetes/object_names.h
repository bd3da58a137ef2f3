#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"

#include <string>
#include <string_view>

namespace dt {

/// Returns the name of the job's objects: that of the job, or "dtrain".
std::string kubernetes_name(const ExportJob& job);
/// Returns the name of the Secret that has the nodes' token.
std::string secret_name(const ExportJob& job, const KubernetesOptions& options);

/// True for letters, digits, -, _ and ., of which keys and names of variables consist.
bool is_of_key(char c);
/// Fails with Errc::input for a name that is no label of RFC 1035: lower-case letters, digits and -
/// between them, from a letter on, and at most 63 bytes. `what` names its place in the message.
Result<> check_label(std::string_view name, std::string_view what);
/// Fails with Errc::input for a name of RFC 1123 that Kubernetes refuses: labels with dots between
/// them, which may begin with a digit, and at most 253 bytes.
Result<> check_object_name(std::string_view name, std::string_view what);
/// Fails with Errc::input for the name of a pod that is longer than a host's name may be. `what`
/// names the part that the user can make shorter.
Result<> check_pod_name(std::string_view longest, std::string_view what);

}  // namespace dt

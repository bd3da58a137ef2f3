#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"

namespace dt {

/// Fails with Errc::input for a job that the kind cannot have: a layout from outside, roles with a
/// kind of equal pods, a role without an image. Fails also for names and variables that Kubernetes
/// refuses.
Result<> check_manifest_job(const ExportJob& job, const KubernetesOptions& options);

}  // namespace dt

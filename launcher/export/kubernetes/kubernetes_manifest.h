#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"

#include <string>

namespace dt {

/// Returns the job as a manifest for kubectl: the objects of the kind, each a document of YAML.
/// `token` is the nodes' fresh one, for the Secret of --with-secret. Fails with Errc::input where a
/// role has no image, and for roles with a kind of equal pods. Fails also for names and values that
/// Kubernetes refuses, and for texts that YAML cannot hold.
Result<Exported> kubernetes_manifest(const ExportJob& job, const KubernetesOptions& options,
                                     const std::string& token);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/export/kubernetes/kubernetes_job.h"

#include <vector>

namespace dt {

/// Returns a Job of batch/v1 whose pods have indices, and the Service by which they find node 0.
/// Fails with Errc::input for names that are too long, and for resources that pods cannot have.
Result<std::vector<YamlValue>> indexed_job_objects(KubernetesJob& job);

}  // namespace dt

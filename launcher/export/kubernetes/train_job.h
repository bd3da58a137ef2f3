#pragma once

#include "base/result.h"
#include "launcher/export/kubernetes/kubernetes_job.h"

#include <vector>

namespace dt {

/// Returns a TrainJob of Kubeflow Trainer, behind the ClusterTrainingRuntime that it names unless
/// --runtime names one of the cluster. Adds to the job what both lack. Fails with Errc::input for
/// names and lists that are too long, and for resources that pods cannot have.
Result<std::vector<YamlValue>> train_job_objects(KubernetesJob& job);

}  // namespace dt

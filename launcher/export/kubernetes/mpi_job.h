#pragma once

#include "base/result.h"
#include "launcher/export/kubernetes/kubernetes_job.h"

#include <vector>

namespace dt {

/// Returns an MPIJob of v2beta1. Its launcher runs dtrain, which reaches the workers by ssh and the
/// operator's list of hosts. Fails with Errc::input for names that are too long, for resources that
/// pods cannot have, and for an unknown number of processes.
Result<std::vector<YamlValue>> mpi_job_objects(const KubernetesJob& job);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/export/kubernetes/kubernetes_job.h"

#include <vector>

namespace dt {

/// Returns a JobSet. Equal nodes are one replicated job, whose pods run dtrain. Different roles are
/// a replicated job each; their pods have the variables of their tasks, and no launcher. Adds to
/// the job what the JobSet lacks. Fails with Errc::input for names that are too long, and for
/// resources that pods cannot have.
Result<std::vector<YamlValue>> job_set_objects(KubernetesJob& job);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"
#include "launcher/export/kubernetes/pod.h"

#include <string>
#include <vector>

namespace dt {

/// The folders that pods have from elsewhere, and the object that has the code.
struct PodVolumes {
  std::vector<PodVolume> all;
  std::vector<YamlValue> objects = {};     ///< a ConfigMap, or none
  std::vector<std::string> left_out = {};  ///< mounts and code, each a part of a sentence
  std::vector<std::string> warnings = {};  ///< whole sentences
};

/// Returns the volumes for the job's mounts, claims and code. Fails with Errc::input for claims
/// with names that Kubernetes refuses, for targets with a colon, and for two volumes at one target.
Result<PodVolumes> pod_volumes(const ExportJob& job, const KubernetesOptions& options);

}  // namespace dt

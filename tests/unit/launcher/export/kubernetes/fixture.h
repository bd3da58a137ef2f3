#pragma once

#include "launcher/export/kubernetes/kubernetes_manifest.h"
#include "tests/unit/launcher/export/fixture.h"

#include <string>
#include <string_view>

namespace dt {

/// Returns the job of a job file's text. Its options of nodes count in the manifest only, as the
/// command has it.
inline ExportJob pods_job(const std::string& node_options, const std::string& others) {
  const std::string common = "command = ['python', 'a.py']\nimage = 'i'\n";
  bool has_count = false;
  for (const std::string_view name : {"np = ", "ppn = ", "hosts = ", "[roles."})
    has_count = has_count || others.find(name) != std::string::npos;
  const std::string counted = has_count ? "" : "nproc-per-node = 'auto'\n";
  ExportJob job = exported_job(common + counted + others);
  const JobFile file =
      read_job_file("schema = 1\n" + common + node_options + others, "mnist.toml").value();
  job.options = decided_options({file.options}, false);
  const bool has_hosts = others.find("hosts = ") != std::string::npos;
  if (!has_hosts) job.plan.reset();
  return job;
}

/// Returns the manifest of a job of nodes.
inline Result<Exported> manifest_of(const std::string& node_options, const std::string& others,
                                    const KubernetesOptions& options) {
  return kubernetes_manifest(pods_job(node_options, others), options, "TOKEN");
}

inline bool has_text(const Exported& exported, std::string_view part) {
  return exported.text.find(part) != std::string::npos;
}

}  // namespace dt

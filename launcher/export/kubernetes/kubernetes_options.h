#pragma once

#include "base/result.h"
#include "launcher/config/mounts/mount.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The kind of object by which Kubernetes runs the job.
enum class KubernetesKind : uint8_t { indexed_job, jobset, trainjob, mpijob };

/// Returns the names of all kinds, as --kind takes them.
std::vector<std::string> kubernetes_kinds();
/// Fails with Errc::input for a text that is no kind.
Result<KubernetesKind> parse_kubernetes_kind(std::string_view text);
/// Returns the name of a kind, as --kind takes it.
std::string kubernetes_kind_name(KubernetesKind kind);

/// The choices of `dtrain export kubernetes` beside the job.
struct KubernetesOptions {
  KubernetesKind kind = KubernetesKind::indexed_job;
  std::string queue = {};          ///< of Kueue; empty: none
  std::string runtime = {};        ///< of a TrainJob, in the cluster; empty: it is written, too
  std::string secret = {};         ///< that has the nodes' token; empty: JOB-dtrain
  bool with_secret = false;        ///< the text has that Secret, with a fresh token
  bool without_dtrain = false;     ///< the image has no dtrain
  std::vector<Mount> claims = {};  ///< each source is the name of a PersistentVolumeClaim
  bool operator==(const KubernetesOptions&) const = default;
};

/// Reads a value of --claim, "NAME:TARGET" or "NAME:TARGET:ro". Fails with Errc::input as
/// add_mount() does for the target.
Result<> add_claim(std::vector<Mount>& claims, std::string_view text);

}  // namespace dt

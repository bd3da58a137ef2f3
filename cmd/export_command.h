#pragma once

#include "base/result.h"
#include "cmd/job_words.h"
#include "launcher/config/files/load_config.h"
#include "launcher/export/export_job.h"
#include "launcher/export/kubernetes/kubernetes_options.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The words behind `dtrain export`.
struct ExportWords {
  enum class Target : uint8_t { help, compose, slurm, kubernetes };
  Target target = Target::help;
  JobWords job = {};        ///< the file, options and command, as of `dtrain job check`
  std::string output = {};  ///< -o; empty: stdout
  KubernetesOptions kubernetes = {};
  /// True when the text has a secret: then the file is for this user alone.
  bool has_secret() const { return kubernetes.with_secret; }
  bool operator==(const ExportWords&) const = default;
};

/// Returns the names of the targets.
std::vector<std::string> export_targets();

/// Reads "TARGET FILE [options] [-o FILE] [-- command]"; for kubernetes, its own options, too, and
/// the file may be missing. Fails with Errc::input.
Result<ExportWords> read_export_words(std::span<const std::string> words);

/// Reads the job file, or the options, and the configuration, and plans the job without contact to
/// its hosts. A scheduler's job around this command does not count. Fails with Errc::input.
Result<ExportJob> export_job(const ExportWords& words, const std::vector<std::string>& environment,
                             const FileNoticeSink& notice = {});

/// Returns the text for the target. Fails with Errc::input.
Result<Exported> export_text(const ExportWords& words, const ExportJob& job);

}  // namespace dt

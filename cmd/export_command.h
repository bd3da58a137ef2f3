#pragma once

#include "base/result.h"
#include "cmd/job_words.h"
#include "launcher/config/files/load_config.h"
#include "launcher/export/export_job.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dt {

/// The words behind `dtrain export`.
struct ExportWords {
  enum class Target : uint8_t { help, compose, slurm };
  Target target = Target::help;
  JobWords job = {};        ///< the file, options and command, as of `dtrain job check`
  std::string output = {};  ///< -o; empty: stdout
  bool operator==(const ExportWords&) const = default;
};

/// Returns the names of the targets.
std::vector<std::string> export_targets();

/// Reads "TARGET FILE [options] [-o FILE] [-- command]". Fails with Errc::input.
Result<ExportWords> read_export_words(std::span<const std::string> words);

/// Reads the job file and its configuration, and plans the job without contact to its hosts. A
/// scheduler's job around this command does not count. Fails with Errc::input.
Result<ExportJob> export_job(const ExportWords& words, const std::vector<std::string>& environment,
                             const FileNoticeSink& notice = {});

/// Returns the text for the target. Fails with Errc::input.
Result<Exported> export_text(const ExportWords& words, const ExportJob& job);

}  // namespace dt

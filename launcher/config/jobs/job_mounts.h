#pragma once

#include "base/result.h"
#include "launcher/config/files/toml_document.h"
#include "launcher/config/option_source.h"

#include <string>
#include <vector>

namespace dt {

/// The mounts of a job file, as values of options of `dtrain run`.
struct JobMounts {
  std::vector<std::string> mounts;    ///< of --mount
  std::vector<std::string> commands;  ///< of --mount-command
};

/// Reads the tables [[mounts]]. Fails with Errc::input, with line and caret, for a table without
/// source or target, for an unknown key, and as add_mount() and set_mount_command().
Result<JobMounts> read_job_mounts(const TomlDocument& document, const TomlEntry& entry);

/// Returns the tables [[mounts]] for these options, which make_run_config accepts; empty: none.
std::string job_mounts_text(const OptionSource& options);

}  // namespace dt

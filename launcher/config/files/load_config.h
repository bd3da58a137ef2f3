#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/tables/option.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dt {

inline constexpr size_t hostfile_bytes_max = size_t{16} << 20;
inline constexpr size_t config_bytes_max = size_t{1} << 20;

/// A line for the user about a configuration file or a variable. It does not end the program.
struct FileNotice {
  std::string text;
  bool is_warning = false;
};
using FileNoticeSink = std::function<void(const FileNotice& notice)>;

/// The input of a run: the command line, and dtrain's own environment.
struct RunRequest {
  OptionSource flags;
  std::vector<std::string> command;
  std::vector<std::string> environment;
  FileNoticeSink notice = {};
  /// Called with all sources, before anything of them can be refused.
  std::function<void(const OptionSources& sources)> on_read = {};
  bool (*takes)(const Option& option) = nullptr;  ///< drops other options; null: all are taken
  OptionValues defaults = {};                     ///< win over those of dtrain run
  OptionSource job = {};                          ///< of a job file: behind variables
};

/// Returns flags, variables, the job file, the configuration files, and torchrun's variables, in
/// the order of precedence. The file is --config-file. Without it the files are ./dtrain.toml and
/// the user's, which is $XDG_CONFIG_HOME/dtrain/config.toml or ~/.config/dtrain/config.toml. It
/// skips a file that read_found_file does not trust.
Result<OptionSources> load_sources(OptionSource flags, const std::vector<std::string>& environment,
                                   const FileNoticeSink& notice = {}, OptionSource job = {});

/// Loads the sources and the files that they name, and decides the configuration. Relative paths
/// start at the current folder.
Result<RunConfig> load_run_config(RunRequest request);
/// The same for `dtrain check`, which has no command.
Result<RunConfig> load_check_config(OptionSource flags, const std::vector<std::string>& environment,
                                    const FileNoticeSink& notice = {});

}  // namespace dt

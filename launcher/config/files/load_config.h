#pragma once

#include "base/result.h"
#include "launcher/config/config.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dt {

inline constexpr size_t hostfile_bytes_max = size_t{16} << 20;
inline constexpr size_t config_bytes_max = size_t{1} << 20;

/// A line for the user about a configuration file, which does not end the program.
struct FileNotice {
  std::string text;
  bool is_warning = false;
};
using FileNoticeSink = std::function<void(const FileNotice& notice)>;

/// What decides a run: the command line, and dtrain's own environment.
struct RunRequest {
  OptionSource flags;
  std::vector<std::string> command;
  std::vector<std::string> environment;
  FileNoticeSink notice = {};
};

/// Flags, variables and the configuration file (--config-file, else ./dtrain.toml, else
/// $XDG_CONFIG_HOME/dtrain/config.toml, else ~/.config/dtrain/config.toml: the first that exists),
/// in the order in which they count. A file that nobody names is left out where read_found_file
/// does not trust it.
Result<OptionSources> load_sources(OptionSource flags, const std::vector<std::string>& environment,
                                   const FileNoticeSink& notice = {});

/// Reads these and the files that they name, and decides. Relative paths are taken from the current
/// folder.
Result<RunConfig> load_run_config(RunRequest request);
/// The same for `dtrain check`, which has no command.
Result<RunConfig> load_check_config(OptionSource flags, const std::vector<std::string>& environment,
                                    const FileNoticeSink& notice = {});

}  // namespace dt

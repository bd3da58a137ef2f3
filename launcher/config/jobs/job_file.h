#pragma once

#include "base/result.h"
#include "launcher/config/jobs/pieces.h"
#include "launcher/config/option_source.h"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The job that a file of `dtrain job` describes, as dtrain.job.toml(5) has it.
struct JobFile {
  OptionSource options;              ///< of `dtrain run`; --name is the file's own, if it has none
  std::vector<std::string> command;  ///< of roles without one; may be empty
  /// The folder of [code] here, at whose place in the copy processes start; empty: none is here.
  std::string code_folder = {};
};

/// Makes relative paths of options begin at a folder, whose name ends in "/"; empty: the current
/// one. They are files and folders, also hostfiles as @FILE. `chdir` is none where hosts get a
/// copy.
void start_paths_at(const std::string& folder, OptionSource& options);

/// Fails: there is no file of pieces.
Result<PiecesText> no_pieces();

/// Reads a job file. Its keys are options of `dtrain run`, with _ for - where that is preferred,
/// and the tables that describe roles, code and environment. Relative paths begin at the folder of
/// `path`. Fails with Errc::input, with the line and a caret, for text that is no job file. Values
/// of options are checked by make_run_config. `read_pieces` is called for a job with `use`.
Result<JobFile> read_job_file(std::string_view text, std::string_view path,
                              const PiecesReader& read_pieces = no_pieces);

}  // namespace dt

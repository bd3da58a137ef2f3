#pragma once

#include "base/result.h"
#include "launcher/config/option_source.h"

#include <string>
#include <vector>

namespace dt {

/// Returns a job file, with comments, for the job that `dtrain run` starts with these options and
/// this command. Requires options that make_run_config accepts. Roles, variables and files have
/// their tables; read_job_file gives the same job.
std::string job_file_text(const OptionSource& options, const std::vector<std::string>& command);

}  // namespace dt

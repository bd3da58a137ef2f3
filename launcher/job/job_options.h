#pragma once

#include "base/clock.h"
#include "launcher/config/config.h"
#include "launcher/job/supervision/supervisor.h"
#include "launcher/report/outcome.h"

#include <functional>
#include <string>

namespace dt {

/// Returns the configuration with {job_id} and {name} replaced in the names of the files that
/// dtrain writes, unless --no-macros is set. Other braces stay as they are.
RunConfig with_job_id(RunConfig config, const std::string& job_id);

/// Returns the options of a Supervisor. The functions are those of Supervisor::Options.
Supervisor::Options supervisor_options(const RunConfig& config, Time start_deadline,
                                       std::function<bool(const Outcome& failed)> may_restart,
                                       std::function<bool()> writes_file);

/// Returns how long agents wait between TERM and KILL for the processes that are left. With --clean
/// all these include tasks, which get the whole grace.
Duration finish_patience(const RunConfig& config);

/// True if the command of a task names Python or a script of it.
bool names_python(const RunConfig& config);

}  // namespace dt

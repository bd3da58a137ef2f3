#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"

namespace dt {

/// Returns the job as a batch script for Slurm, which runs dtrain on the nodes of its allocation.
/// All words are exact, by the quotes of a shell.
Result<Exported> slurm_script(const ExportJob& job);

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/export/export_job.h"

namespace dt {

/// Returns the job as a file for docker compose, for one machine: a service a task. Fails with
/// Errc::input where a role has no image, where the number of tasks is unknown, and for texts that
/// YAML cannot hold.
Result<Exported> compose_file(const ExportJob& job);

}  // namespace dt

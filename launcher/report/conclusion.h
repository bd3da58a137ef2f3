#pragma once

#include "base/clock.h"
#include "launcher/config/config.h"
#include "launcher/console/runtime.h"
#include "launcher/report/job_record.h"
#include "launcher/report/outcome.h"
#include "launcher/report/report_file.h"

namespace dt {

/// How long a job that has failed tries to write its last lines. One that ended well has no limit.
inline constexpr Duration drain_patience = seconds(2);

/// The end of a job for its user. Prints why it failed, unless that is known, writes the document
/// of --report, and drains the output. Returns the outcome, in which output that was lost counts,
/// and a report that could not be written.
Outcome conclude(const RunConfig& config, Runtime& runtime, const JobRecord& record,
                 Outcome outcome, Result<ReportFile>& report);

}  // namespace dt

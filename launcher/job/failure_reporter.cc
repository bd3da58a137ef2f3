#include "launcher/job/failure_reporter.h"

#include "launcher/report/report.h"

namespace dt {

namespace {

/// How long a failure waits for the last lines of the task's stderr.
constexpr Duration report_patience = milliseconds(500);

}  // namespace

void FailureReporter::report_soon() {
  if (!parts_.verdict.has_unreported_failure() || timer_) return;
  timer_ = parts_.loop.after(report_patience, [this] { report_now(); });
}

void FailureReporter::report_if_complete() {
  if (!parts_.verdict.has_unreported_failure()) return;
  if (parts_.verdict.outcome().failure->error) return;
  if (parts_.output.ended(parts_.verdict.failed_task(), TaskStream::error)) report_now();
}

void FailureReporter::report_now() {
  timer_ = Timer();
  if (!parts_.verdict.has_unreported_failure()) return;
  parts_.verdict.failure_reported();
  parts_.record.last_stderr = parts_.output.last_errors(parts_.verdict.failed_task());
  parts_.log.error("{}", failure_text(*parts_.verdict.outcome().failure, parts_.record.last_stderr,
                                      stream_name_));
}

void FailureReporter::report_reason() {
  const Outcome& outcome = parts_.verdict.outcome();
  if (!parts_.verdict.by_lost_host() || outcome.reason_reported) return;
  parts_.log.error("{}", outcome.reason);
  parts_.verdict.reason_reported();
}

}  // namespace dt

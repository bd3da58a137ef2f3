#include "launcher/job/failure_reporter.h"

#include "launcher/report/report.h"

namespace dt {

namespace {

/// How long a failure waits for the last lines of the task's stderr.
constexpr Duration report_patience = milliseconds(500);

}  // namespace

void FailureReporter::report_soon() {
  if (!parts_.supervisor.has_unreported_failure() || timer_) return;
  timer_ = parts_.loop.after(report_patience, [this] { report_now(); });
}

void FailureReporter::report_if_complete() {
  if (!parts_.supervisor.has_unreported_failure()) return;
  if (parts_.supervisor.outcome().failure->error) return;
  if (parts_.output.ended(parts_.supervisor.failed_task(), TaskStream::error)) report_now();
}

void FailureReporter::report_now() {
  timer_ = Timer();
  if (!parts_.supervisor.has_unreported_failure()) return;
  parts_.supervisor.failure_reported();
  parts_.record.last_stderr = parts_.output.last_errors(parts_.supervisor.failed_task());
  parts_.log.error("{}", failure_text(*parts_.supervisor.outcome().failure,
                                      parts_.record.last_stderr, stream_name_));
}

void FailureReporter::report_reason() {
  const Outcome& outcome = parts_.supervisor.outcome();
  if (!parts_.supervisor.lost_host_decided() || outcome.reason_reported) return;
  parts_.log.error("{}", outcome.reason);
  parts_.supervisor.reason_reported();
}

}  // namespace dt

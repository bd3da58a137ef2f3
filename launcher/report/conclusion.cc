#include "launcher/report/conclusion.h"

#include "base/json.h"
#include "launcher/report/report_document.h"
#include "launcher/report/task_list.h"

namespace dt {

namespace {

void count_lost_output(const RunConfig& config, const Runtime& runtime, Outcome& outcome) {
  const auto& lost = runtime.lost_output();
  if (lost && config.ends_on_lost_output()) count_lost_output(outcome, *lost);
}

/// Prints why the job failed, unless that is known already.
void print_reason(const RunConfig& config, const JobRecord& record, const Outcome& outcome,
                  Log& log) {
  const bool unknown = !outcome.reason.empty() && !outcome.reason_reported;
  if (unknown && outcome.exit_status == 0) log.print("{}", outcome.reason);
  if (unknown && outcome.exit_status != 0) log.error("{}", outcome.reason);
  if (!config.continue_on_failure || !outcome.failure) return;
  if (const auto more = more_failures_text(record, *outcome.failure)) log.error("{}", *more);
}

Result<> write_report(const RunConfig& config, ReportFile& file, const JobRecord& record,
                      const Outcome& outcome) {
  if (!config.report || config.dry_run) return {};
  const Json document = report_document(record, config.command, outcome, Clock::now());
  return file.write(document.text(2) + "\n");
}

}  // namespace

Outcome conclude(const RunConfig& config, Runtime& runtime, const JobRecord& record,
                 Outcome outcome, Result<ReportFile>& report) {
  count_lost_output(config, runtime, outcome);
  print_reason(config, record, outcome, runtime.log());
  const auto written = report ? write_report(config, *report, record, outcome) : Result<>();
  if (!written) runtime.log().error("{}", written.error().message);
  if (!written && outcome.exit_status == 0) outcome.exit_status = 1;
  const bool ended_well = outcome.exit_status == 0;
  runtime.drain(outcome.reason.empty() ? Time::max() : Clock::now() + drain_patience);
  count_lost_output(config, runtime, outcome);
  if (ended_well && outcome.exit_status != 0) runtime.log().error("{}", outcome.reason);
  return outcome;
}

}  // namespace dt

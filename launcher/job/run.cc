#include "launcher/job/run.h"

#include "base/crypto.h"
#include "base/io/log.h"
#include "launcher/console/runtime.h"
#include "launcher/job/job.h"
#include "launcher/job/job_context.h"
#include "launcher/job/plan_job.h"
#include "launcher/job/prepare_job.h"
#include "launcher/report/report.h"
#include "launcher/report/report_document.h"
#include "launcher/report/report_file.h"

#include <optional>
#include <string>
#include <utility>

namespace dt {

namespace {

/// How long the launcher waits for a slow console after the job is to end.
constexpr Duration drain_patience = seconds(2);

/// Launches all tasks, and returns when they have ended and the agents have exited.
Result<Outcome> run_to_end(JobContext& context, const PlannedJob& planned,
                           const PreparedJob& prepared) {
  const RunConfig& config = context.config;
  Runtime& runtime = context.runtime;
  Job job({runtime.loop(), context.agents, *prepared.rendezvous, *prepared.output, runtime.log(),
           context.record, context.status, [] { Runtime::suspend(); }, context.own_children},
          planned.plan, config, context.start_deadline);
  const Runtime::SignalHandlerScope signals(runtime, [&job](int number) { job.signalled(number); });
  TRY(job.launch({planned.forwarded, prepared.facts, planned.bindings, prepared.reach}));
  ignore_openssl_config();  // now, because the launcher waits for the agents anyway
  TRY(job.supervise());
  TRY(job.collect());
  // A reader that went away is noticed only by a write: the counts of lost output need that write.
  if (config.report) runtime.drain(Clock::now() + drain_patience);
  context.record.output = prepared.output->counts();
  context.record.rendezvous = prepared.rendezvous->counters();
  return job.outcome();
}

/// The whole program: hosts, agents, plan, rendezvous, launch, supervision.
Result<Outcome> run_job(const RunConfig& config, const Environment& environment, Runtime& runtime,
                        JobRecord& record) {
  JobContext context(config, environment, runtime, record);
  const PlannedJob planned = TRY(plan_job(context, environment));
  if (config.dry_run) {
    runtime.out().write(plan_report(planned.plan, config), {});
    return Outcome();
  }
  const PreparedJob prepared = TRY(prepare_job(context, planned));
  if (prepared.failure) return *prepared.failure;
  return run_to_end(context, planned, prepared);
}

/// The outcome of a job that did not end by itself: an interruption before the launch, or an error.
Outcome outcome_of(Result<Outcome> result, int interrupted) {
  if (result) return *std::move(result);
  if (result.error().code == Errc::interrupted) return interrupted_outcome(interrupted);
  return {.exit_status = exit_status_of(result.error().code), .reason = result.error().message};
}

/// Writes the document of --report.
void write_report(const RunConfig& config, ReportFile& file, const JobRecord& record,
                  const Outcome& outcome, Log& log) {
  if (!config.report || config.dry_run) return;
  const Json document = report_document(record, config.command, outcome, Clock::now());
  if (const auto written = file.write(document.text(2) + "\n"); !written) {
    log.warn("{}", written.error().message);
  }
}

}  // namespace

int run(const RunConfig& config, const Environment& environment) {
  const auto runtime =
      Runtime::open({.verbose = config.verbose, .color = config.color}, environment);
  if (!runtime) {
    Log(Log::Level::normal, write_to_stderr).error("{}", runtime.error().message);
    return exit_status_of(runtime.error().code);
  }
  become_subreaper();
  for (const std::string& warning : config.warnings)
    (*runtime)->log().warn("{}", warning);
  JobRecord record;
  auto report = ReportFile::open(config.dry_run ? std::nullopt : config.report);
  Result<Outcome> result = !report ? Result<Outcome>(tl::unexpected(report.error()))
                                   : run_job(config, environment, **runtime, record);
  const Outcome outcome = outcome_of(std::move(result), (*runtime)->interrupted());
  if (!outcome.reason.empty() && !outcome.reason_reported)
    (*runtime)->log().error("{}", outcome.reason);
  if (report) write_report(config, *report, record, outcome, (*runtime)->log());
  (*runtime)->drain(outcome.reason.empty() ? Time::max() : Clock::now() + drain_patience);
  return outcome.exit_status;
}

}  // namespace dt

#include "launcher/job/run.h"

#include "base/crypto.h"
#include "base/io/log.h"
#include "launcher/config/allocation/allocation.h"
#include "launcher/console/runtime.h"
#include "launcher/discovery/host_discovery.h"
#include "launcher/job/job_context.h"
#include "launcher/job/job_options.h"
#include "launcher/job/plan_job.h"
#include "launcher/job/prepare_job.h"
#include "launcher/job/run_generations.h"
#include "launcher/job/sync/dry_run_report.h"
#include "launcher/nodes/node.h"
#include "launcher/process/sweep.h"
#include "launcher/report/conclusion.h"
#include "launcher/report/report_file.h"
#include "launcher/slurm/dialed_by_srun.h"
#include "launcher/slurm/signal_note.h"
#include "launcher/sync/source/git_token.h"

#include <optional>
#include <string>
#include <utility>

namespace dt {

namespace {

/// Finds the hosts of the first start that a program prints.
Result<> find_hosts(RunConfig& config, Runtime& runtime) {
  if (config.host_source.program.empty()) return {};
  const auto interrupted = [&runtime] { return runtime.interrupted() != 0; };
  HostList list = TRY(read_once(runtime.loop(), config.host_source, interrupted));
  config.hosts = std::move(list.hosts);
  for (const std::string& warning : list.warnings)
    runtime.log().warn("{}", warning);
  return {};
}

/// How the agents of other hosts connect by themselves; none: the launcher connects to them.
std::optional<DialedHosts::Options> dialed_hosts(const RunConfig& config,
                                                 const Environment& environment, Log& log) {
  return config.nodes ? dialed_by_nodes(config) : dialed_by_srun(config, environment, log);
}

/// Agents, plan, rendezvous, launch, supervision.
Result<Outcome> run_with(JobContext& context, const Environment& environment) {
  const RunConfig& config = context.config;
  PlannedJob planned = TRY(plan_job(context, environment));
  if (config.dry_run) {
    std::string text = TRY(dry_run_report(planned.plan, config, environment));
    context.runtime.out().write(std::move(text), {});
    return Outcome();
  }
  auto prepared = prepare_job(context, std::move(planned));
  if (!prepared || prepared->failure) context.close_trees();
  if (!prepared) return tl::unexpected(std::move(prepared).error());
  if (prepared->failure) return *prepared->failure;
  return run_generations(context, *prepared);
}

/// The outcome of a job that did not end by itself: an interruption before the launch, or an error.
Outcome outcome_of(Result<Outcome> result, int interrupted) {
  if (result) return *std::move(result);
  if (result.error().code == Errc::interrupted) return interrupted_outcome(interrupted);
  return {.exit_status = exit_status_of(result.error().code), .reason = result.error().message};
}

/// The whole program.
Result<Outcome> run_job(RunConfig& config, const Environment& of_user, Runtime& runtime,
                        JobRecord& record) {
  const Environment environment =
      config.sync ? without_token(config.sync->token, of_user) : of_user;
  TRY(find_hosts(config, runtime));
  auto dialed = dialed_hosts(config, environment, runtime.log());
  JobContext context(config, environment, runtime, record, std::move(dialed));
  TRY(context.start_sync(of_user));
  auto result = run_with(context, environment);
  if (context.nodes_disagree()) result = tl::unexpected(*context.agents.dialed_hosts()->refusal());
  Outcome outcome = outcome_of(std::move(result), runtime.interrupted());
  dismiss_nodes(context.agents.dialed_hosts(), outcome);
  return outcome;
}

/// Prints what the configuration has for the user before the job starts.
void print_notes(const RunConfig& config, const Environment& environment, Log& log) {
  for (const std::string& warning : config.warnings)
    log.warn("{}", warning);
  if (!config.allocation.empty()) log.print("{}", allocation_line(config.allocation, config.hosts));
  for (const std::string& note : config.notes)
    log.print("{}", note);
  if (const auto note = signal_note(config, environment)) log.print("{}", *note);
}

/// For a failure before there is a Runtime.
int print_failure(const Error& error) {
  Log(Log::Level::normal, write_to_stderr).error("{}", error.message);
  return exit_status_of(error.code);
}

}  // namespace

int run(const RunConfig& given, const Environment& environment, std::optional<KeepOrder> kept) {
  const auto job_id = random_name(8);
  if (!job_id) return print_failure(job_id.error());
  RunConfig config = with_job_id(given, *job_id);
  if (kept) keep_output(*kept, config);
  const auto opened = Runtime::open({.verbose = config.verbose,
                                     .color = config.color,
                                     .needs_reader = config.ends_on_lost_output()},
                                    environment);
  if (!opened) return print_failure(opened.error());
  Runtime& runtime = **opened;
  const bool is_node = config.nodes && !config.dry_run;
  if (is_node && !begin_as_node_0(config, runtime.log())) {
    // The job is kept on node 0.
    if (kept) static_cast<void>(remove_job_folder(kept->folder));
    return run_node(config, environment, runtime);
  }
  become_subreaper();
  JobRecord record;
  record.job = *job_id;
  record.name = config.name;
  std::optional<KeptJob> folder;
  if (kept) folder.emplace(*std::move(kept), KeptJob::Parts{config, runtime, record});
  print_notes(config, environment, runtime.log());
  auto report = ReportFile::open(config.dry_run ? std::nullopt : config.report);
  Result<Outcome> result = !report ? Result<Outcome>(tl::unexpected(report.error()))
                                   : run_job(config, environment, runtime, record);
  const Outcome outcome = conclude(config, runtime, record,
                                   outcome_of(std::move(result), runtime.interrupted()), report);
  if (folder) folder->end(outcome);
  return outcome.exit_status;
}

}  // namespace dt

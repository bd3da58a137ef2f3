#include "launcher/job/run.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/io/log.h"
#include "launcher/connect/agent_group.h"
#include "launcher/console/runtime.h"
#include "launcher/console/status_line.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/environment/job_facts.h"
#include "launcher/job/job.h"
#include "launcher/job/own_names.h"
#include "launcher/job/prepare.h"
#include "launcher/job/reach.h"
#include "launcher/job/rendezvous.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/resolve_hosts.h"
#include "launcher/report/report.h"
#include "launcher/report/report_document.h"
#include "launcher/report/report_file.h"
#include "rendezvous/store/server.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// How long the launcher waits for a slow console after the job is to end.
constexpr Duration drain_patience = seconds(2);

void warn(Runtime& runtime, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    runtime.log().warn("{}", warning);
  }
}

TaskOutput::Options output_options(const RunConfig& config, const Runtime& runtime) {
  return {.folder = config.output_dir,
          .tags = !config.no_tag,
          .quiet = config.quiet,
          .merged = config.merge_stderr,
          .timestamps = config.timestamp,
          .colored_out = runtime.colored_out(),
          .colored_err = runtime.colored_err()};
}

/// Checks the options that name tasks or ranks of the plan.
Result<> check_with_plan(const RunConfig& config, const Plan& plan, Runtime& runtime) {
  TRY(check_targets(config, plan));
  const std::vector<std::string> warnings = TRY(check_cluster_variables(config, plan));
  warn(runtime, warnings);
  return {};
}

/// Lives from before the first connection until the end of the job.
struct JobContext {
  JobContext(const RunConfig& run_config, const Environment& environment, Runtime& its_runtime,
             JobRecord& its_record);

  const RunConfig& config;
  Runtime& runtime;
  JobRecord& record;
  Time start_deadline;
  AgentGroup::Awaited awaited;      ///< for every answer of agents before the launch
  std::vector<pid_t> own_children;  ///< that this process had before it started any agent
  StatusLine status;
  AgentGroup agents;
};

JobContext::JobContext(const RunConfig& run_config, const Environment& environment,
                       Runtime& its_runtime, JobRecord& its_record)
    : config(run_config),
      runtime(its_runtime),
      record(its_record),
      start_deadline(Clock::now() + config.start_timeout),
      awaited{.deadline = start_deadline,
              .interrupted = [this] { return runtime.interrupted() != 0; }},
      own_children(existing_children()),
      status(runtime.loop(), {runtime.out(), runtime.err()},
             wants_status_line(runtime.err(), config.quiet, environment)),
      agents(runtime.loop(), {.heartbeat = config.heartbeat,
                              .dead_after = config.dead_after,
                              .ssh = config.ssh,
                              .log = &runtime.log(),
                              .on_connected = [this](size_t connected, size_t all) {
                                status.hosts(connected, all);
                              }}) {
}

/// All that --dry-run prints.
struct PlannedJob {
  Environment forwarded;
  Plan plan;
  Bindings bindings;
};

/// All that the launch needs beside the plan.
struct PreparedJob {
  std::optional<Outcome> failure;  ///< set: an agent cannot start its tasks, and the rest is empty
  std::unique_ptr<TaskOutput> output = {};
  Reach reach = {};
  std::optional<HeldPort> held_port = {};  ///< keeps the port from other jobs of this machine
  std::unique_ptr<RendezvousServer> rendezvous = {};
  JobFacts facts = {};
};

/// Starts the agents, and makes the plan of what they report.
Result<PlannedJob> plan_job(JobContext& context, const Environment& environment) {
  const RunConfig& config = context.config;
  Runtime& runtime = context.runtime;
  Environment forwarded =
      TRY(forwarded_environment(environment, config.environment, config.environment_excluded));
  const ResolvedHosts resolved = TRY(resolve_hosts(config, own_names(config)));
  const std::vector<Host>& hosts = resolved.hosts;
  warn(runtime, resolved.warnings);

  const ResourceNeed need = resource_need(config, hosts);
  if (!config.dry_run || need != ResourceNeed::nothing) TRY(context.agents.connect(hosts));
  // Without a need the agents start while the launcher prepares everything else.
  auto reported = TRY(context.agents.resources(need, context.awaited));
  const auto resources = with_forwarded_devices(std::move(reported), forwarded);
  Plan plan = TRY(job_plan(config, resolved, resources));
  TRY(check_with_plan(config, plan, runtime));
  Bindings bindings = TRY(bind_plan(config.placement, plan, hosts, resources));
  warn(runtime, resource_warnings(hosts, resources));
  log_bindings(bindings, runtime.log());
  return PlannedJob{std::move(forwarded), std::move(plan), std::move(bindings)};
}

/// Has the agents prepare, finds how hosts reach each other, and opens the rendezvous.
Result<PreparedJob> prepare_job(JobContext& context, const PlannedJob& planned) {
  const RunConfig& config = context.config;
  Runtime& runtime = context.runtime;
  const Plan& plan = planned.plan;
  const Token token = TRY(Token::random());
  const std::string job_name = TRY(random_name(8));
  context.record.planned(plan, job_name);
  TRY(check_launcher_files(config, plan));
  auto output = TRY(TaskOutput::open(plan, output_options(config, runtime), runtime.out(),
                                     runtime.err(), runtime.log()));

  context.agents.retain(plan);
  auto held_port = TRY(hold_rendezvous_port(config));
  const uint16_t port = held_port ? held_port->number : uint16_t{0};
  const auto orders = prepare_orders(config, plan, job_name, token, planned.forwarded);
  const std::vector<Prepared> prepared = TRY(context.agents.prepare(orders, context.awaited));
  if (const auto failure = preparation_failure(plan, orders, prepared))
    return PreparedJob{.failure = failure};
  warn(runtime, cwd_fallback_warnings(plan, orders, prepared));

  // The probe listens at the rendezvous' port, and is over before the rendezvous listens.
  Reach reach = TRY(find_reach(runtime.loop(), context.agents, plan, prepared,
                               {token, context.awaited, config.networks, port}));
  warn(runtime, reach.warnings);
  const std::vector<Hello> hellos = TRY(context.agents.await_hellos(context.awaited));
  const TaskTable table = task_table(plan, job_name, reach);
  const auto sources = horovod_sources(config, plan, reach, hellos);
  auto rendezvous = TRY(open_rendezvous(runtime.loop(),
                                        {.ip = reach.launcher,
                                         .port = port,
                                         .token = token,
                                         .table = table,
                                         .dead_after = config.dead_after,
                                         .horovod_sources = sources},
                                        runtime.log()));
  JobFacts facts =
      job_facts(config, plan, table, {rendezvous->address(), token, sources.has_value()}, prepared);
  return PreparedJob{.failure = {},
                     .output = std::move(output),
                     .reach = std::move(reach),
                     .held_port = std::move(held_port),
                     .rendezvous = std::move(rendezvous),
                     .facts = std::move(facts)};
}

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
  warn(**runtime, config.warnings);
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

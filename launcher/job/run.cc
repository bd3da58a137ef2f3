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
#include "launcher/job/prepare.h"
#include "launcher/job/rendezvous.h"
#include "launcher/plan/binding.h"
#include "launcher/plan/job_plan.h"
#include "launcher/report/report.h"
#include "launcher/report/report_document.h"
#include "launcher/report/report_file.h"
#include "rendezvous/store/server.h"

namespace dt {

namespace {

/// How long the console may hold us up after the job was told to end.
constexpr Duration drain_patience = seconds(2);

void warn(Runtime& stage, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    stage.log().warn("{}", warning);
  }
}

TaskOutput::Options output_options(const RunConfig& config, const Runtime& stage) {
  return {.folder = config.output_dir,
          .tags = !config.no_tag,
          .quiet = config.quiet,
          .merged = config.merge_stderr,
          .timestamps = config.timestamp,
          .colored_out = stage.colored_out(),
          .colored_err = stage.colored_err()};
}

/// Where this machine listens for the probe, which is over before the rendezvous listens.
uint16_t number_of(const std::optional<HeldPort>& held) {
  return held ? held->number : uint16_t{0};
}

/// What could not be told before the plan was known.
Result<> check_with_plan(const RunConfig& config, const Plan& plan, Runtime& stage) {
  TRY(check_targets(config, plan));
  warn(stage, TRY(check_cluster_variables(config, plan)));
  return {};
}

/// The whole program: hosts, agents, plan, rendezvous, launch, supervision.
Result<Outcome> run_job(const RunConfig& config, const Environment& environment, Runtime& stage,
                        JobRecord& record) {
  const Time start_deadline = Clock::now() + config.start_timeout;
  const AgentGroup::Awaited answers = {
      .deadline = start_deadline, .interrupted = [&stage] { return stage.interrupted() != 0; }};
  const Environment forwarded =
      TRY(forwarded_environment(environment, config.environment, config.environment_excluded));
  const auto [hosts, warnings] = TRY(job_hosts(config));
  warn(stage, warnings);

  const std::vector<pid_t> own_children = existing_children();
  StatusLine status(stage.loop(), {stage.out(), stage.err()},
                    wants_status_line(stage.err(), config.quiet, environment));
  AgentGroup crew(stage.loop(), {.heartbeat = config.heartbeat,
                                 .dead_after = config.dead_after,
                                 .ssh = config.ssh,
                                 .log = &stage.log(),
                                 .on_connected = [&status](size_t connected, size_t all) {
                                   status.hosts(connected, all);
                                 }});
  const ResourceNeed need = resource_need(config, hosts);
  if (!config.dry_run || need != ResourceNeed::nothing) TRY(crew.connect(hosts));
  // Else the agents start while we get everything else ready.
  const auto resources = with_forwarded_devices(TRY(crew.resources(need, answers)), forwarded);
  Plan plan = TRY(job_plan(config, hosts, resources));
  TRY(check_with_plan(config, plan, stage));
  const Bindings bindings = TRY(bind_plan(config.placement, plan, hosts, resources));
  warn(stage, resource_warnings(hosts, resources));
  log_bindings(bindings, stage.log());
  if (config.dry_run) {
    stage.out().write(plan_report(plan, config), {});
    return Outcome();
  }

  const Token token = TRY(Token::random());
  const std::string job_name = TRY(random_name(8));
  record.planned(plan, job_name);
  TRY(check_launcher_files(config, plan));
  const auto output = TRY(
      TaskOutput::open(plan, output_options(config, stage), stage.out(), stage.err(), stage.log()));

  crew.keep(plan);
  auto held = TRY(hold_rendezvous_port(config));
  const std::vector<Prepare> orders = prepare_orders(config, plan, job_name, token, forwarded);
  const std::vector<Prepared> prepared = TRY(crew.prepare(orders, answers));
  if (const auto failed = preparation_failure(plan, orders, prepared)) return *failed;
  warn(stage, cwd_fallback_warnings(plan, orders, prepared));
  const Reach reach = TRY(find_reach(stage.loop(), crew, plan, prepared,
                                     {token, answers, config.networks, number_of(held)}));
  warn(stage, reach.warnings);
  const TaskTable table = task_table(plan, job_name, reach);
  const std::vector<Hello> hellos = TRY(crew.await_hellos(answers));
  const auto sources = horovod_sources(config, plan, reach, hellos);
  const auto rendezvous = TRY(open_rendezvous(stage.loop(),
                                              {.ip = reach.launcher,
                                               .port = number_of(held),
                                               .token = token,
                                               .table = table,
                                               .dead_after = config.dead_after,
                                               .horovod_sources = sources},
                                              stage.log()));
  const JobFacts facts =
      job_facts(config, plan, table, {rendezvous->address(), token, sources.has_value()}, prepared);

  Job job({stage.loop(), crew, *rendezvous, *output, stage.log(), record, status,
           [] { Runtime::suspend(); }, own_children},
          std::move(plan), config, start_deadline);
  const Runtime::SignalHandlerScope taker(stage, [&job](int number) { job.signalled(number); });
  TRY(job.launch({forwarded, facts, bindings, reach}));
  ignore_openssl_config();  // here, where we would else wait for the agents
  TRY(job.supervise());
  TRY(job.collect());
  // What a reader who went away has lost is known once it was tried to write.
  if (config.report) stage.drain(Clock::now() + drain_patience);
  record.output = output->counts();
  record.rendezvous = rendezvous->counters();
  return job.outcome();
}

/// What an interruption before the launch amounts to, and errors of our own in words.
Outcome outcome_of(Result<Outcome> result, int interrupted) {
  if (result) return *std::move(result);
  if (result.error().code == Errc::interrupted) return interrupted_outcome(interrupted);
  return {.exit_status = exit_status_of(result.error().code), .reason = result.error().message};
}

/// Tells of the end to whoever asked for a report.
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
  const auto stage = Runtime::open({.verbose = config.verbose, .color = config.color}, environment);
  if (!stage) {
    Log(Log::Level::normal, write_to_stderr).error("{}", stage.error().message);
    return exit_status_of(stage.error().code);
  }
  become_subreaper();
  warn(**stage, config.warnings);
  JobRecord record;
  auto report = ReportFile::open(config.dry_run ? std::nullopt : config.report);
  Result<Outcome> result = !report ? Result<Outcome>(tl::unexpected(report.error()))
                                   : run_job(config, environment, **stage, record);
  const Outcome outcome = outcome_of(std::move(result), (*stage)->interrupted());
  if (!outcome.reason.empty() && !outcome.reason_told) (*stage)->log().error("{}", outcome.reason);
  if (report) write_report(config, *report, record, outcome, (*stage)->log());
  (*stage)->drain(outcome.reason.empty() ? Time::max() : Clock::now() + drain_patience);
  return outcome.exit_status;
}

}  // namespace dt

#include "launcher/job/prepare_job.h"

#include "base/crypto.h"
#include "base/format.h"
#include "launcher/environment/environment.h"
#include "launcher/job/start/prepare.h"
#include "launcher/plan/some_of.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

TaskOutput::Options output_options(const RunConfig& config, Runtime& runtime) {
  return {.folder = config.output_dir,
          .results = config.result_dir,
          .tags = !config.no_tag,
          .quiet = config.quiet,
          .merged = config.merge_stderr,
          .timestamps = config.timestamp,
          .colored_out = runtime.colored_out(),
          .colored_err = runtime.colored_err(),
          .loop = &runtime.loop(),
          .restarts = config.restarts.max > 0};
}

/// The user's values would disagree between the tasks.
std::vector<std::string> overridden_warnings(const RunConfig& config, const Plan& plan,
                                             const JobFacts& facts) {
  const Task& first = plan.tasks.front();
  const Environment added = added_environment(common_environment(facts, plan),
                                              task_environment(facts, plan, first), "", first.id);
  const std::vector<std::string> names = overridden_settings(config.environment, added);
  if (names.empty()) return {};
  return {format("{}: dtrain sets {} for each task; the value{} given {} not used", some_of(names),
                 names.size() == 1 ? "it" : "them", names.size() == 1 ? "" : "s",
                 names.size() == 1 ? "is" : "are")};
}

}  // namespace

Result<PreparedJob> prepare_job(JobContext& context, PlannedJob planned) {
  const RunConfig& config = context.config;
  Runtime& runtime = context.runtime;
  Plan& plan = planned.plan;
  const Token token = TRY(Token::random());
  const std::string job_name = context.record.job;
  context.record.planned(plan, job_name);
  TRY(check_launcher_files(config, plan));
  auto output = TRY(TaskOutput::open(plan, output_options(config, runtime), runtime.out(),
                                     runtime.err(), runtime.log()));

  context.agents.retain(plan);
  auto held_port = TRY(hold_rendezvous_port(config));
  const uint16_t port = held_port ? held_port->number : uint16_t{0};
  const auto orders = prepare_orders(
      config, plan, {.token = token, .job = job_name, .generation = first_generation},
      planned.forwarded, needs_probe(plan, config.networks));
  std::vector<Prepared> prepared = TRY(context.agents.prepare(orders, context.awaited));
  if (const auto failure = preparation_failure(plan, orders, prepared))
    return PreparedJob{.failure = failure};
  std::ranges::move(drop_failed_spares(context.agents, runtime.log(), plan, prepared),
                    std::back_inserter(planned.history.lost));
  context.record.planned(plan, job_name);
  context.warn(cwd_fallback_warnings(plan, orders, prepared));

  // The probe listens at the rendezvous' port, and is over before the rendezvous listens.
  Reach reach = TRY(find_reach(runtime.loop(), context.agents, plan, prepared,
                               {token, context.awaited, config.networks, port}));
  context.warn(reach.warnings);
  const std::vector<Hello> hellos = TRY(context.agents.await_hellos(context.awaited));
  const TaskTable table = task_table(plan, job_name, reach);
  const auto sources = horovod_sources(config, plan, reach, hellos);
  auto rendezvous = TRY(open_rendezvous(runtime.loop(),
                                        {.ip = reach.launcher,
                                         .port = port,
                                         .token = token,
                                         .table = table,
                                         .dead_after = config.dead_after,
                                         .engine = {.encrypt_data = config.encrypt_data,
                                                    .transport = config.transport,
                                                    .algorithms = config.algorithms,
                                                    .stall_after = config.stall_report},
                                         .horovod_sources = sources},
                                        runtime.log()));
  JobFacts facts =
      job_facts(config, plan, table, {rendezvous->address(), token, sources.has_value()}, prepared);
  context.warn(overridden_warnings(config, plan, facts));
  return PreparedJob{.failure = {},
                     .generation = {.token = token,
                                    .forwarded = std::move(planned.forwarded),
                                    .need = planned.need,
                                    .probed = {reach, hosts_of(plan)},
                                    .plan = std::move(plan),
                                    .bindings = std::move(planned.bindings),
                                    .reach = std::move(reach),
                                    .facts = std::move(facts),
                                    .start_deadline = context.start_deadline,
                                    .history = std::move(planned.history)},
                     .output = std::move(output),
                     .held_port = std::move(held_port),
                     .rendezvous = std::move(rendezvous)};
}

}  // namespace dt

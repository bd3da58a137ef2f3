#include "launcher/job/prepare_job.h"

#include "base/crypto.h"
#include "base/format.h"
#include "launcher/environment/environment.h"
#include "launcher/job/start/prepare.h"
#include "launcher/job/sync/tree_orders.h"
#include "launcher/plan/some_of.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace dt {

namespace {

EngineSettings engine_settings(const RunConfig& config) {
  return {.encrypt_data = config.encrypt_data,
          .transport = config.transport,
          .algorithms = config.algorithms,
          .stall_after = config.stall_report};
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

/// Waits until the hosts have the tree of --sync, and has their agents find folder and command
/// there. Returns the outcome of a job that cannot start.
Result<std::optional<Outcome>> find_commands(JobContext& context, PlannedJob& planned,
                                             const Token& token, std::vector<Prepared>& prepared) {
  const RunConfig& config = context.config;
  Plan& plan = planned.plan;
  TRY(context.code->wait(plan, {Time::max(), context.awaited.interrupted}));
  context.begin_start();
  auto orders = prepare_orders(
      config, plan, {.token = token, .job = context.record.job, .generation = first_generation},
      planned.forwarded);
  if (context.code->has_failed(plan)) {
    add_failures(prepared, context.code->failures(plan));
    return preparation_failure(plan, orders, prepared);
  }
  TRY(place_in_trees(orders, config, plan, *context.code));
  set_stage(orders, PrepareStage::command);
  auto answers = TRY(context.agents.prepare(orders, context.awaited));
  add_failures(answers, context.code->failures(plan));
  for (size_t agent = 0; agent < answers.size(); ++agent)
    answers[agent].ports = prepared[agent].ports;
  auto failure = preparation_failure(plan, orders, answers);
  if (failure) return failure;
  std::ranges::move(drop_failed_spares(context.agents, context.runtime.log(), plan, answers),
                    std::back_inserter(planned.history.lost));
  context.record.planned(plan, context.record.job);
  prepared = std::move(answers);
  return std::nullopt;
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
  if (context.code) TRY(context.code->give(plan));
  auto held_port = TRY(hold_rendezvous_port(config));
  const uint16_t port = held_port ? held_port->number : uint16_t{0};
  auto orders = prepare_orders(config, plan,
                               {.token = token, .job = job_name, .generation = first_generation},
                               planned.forwarded, needs_probe(plan, config.networks));
  if (context.code) set_stage(orders, PrepareStage::ports);
  std::vector<Prepared> prepared = TRY(context.agents.prepare(orders, context.awaited));
  if (auto failure = preparation_failure(plan, orders, prepared)) {
    if (!config.sync) failure->reason += sync_advice(plan, orders, prepared);
    return PreparedJob{.failure = std::move(failure)};
  }
  std::ranges::move(drop_failed_spares(context.agents, runtime.log(), plan, prepared),
                    std::back_inserter(planned.history.lost));
  context.record.planned(plan, job_name);
  context.warn(cwd_fallback_warnings(plan, orders, prepared));
  // The probe listens at the rendezvous' port, and is over before the rendezvous listens.
  Reach reach = TRY(find_reach(runtime.loop(), context.agents, plan, prepared,
                               {token, context.awaited, config.networks, port}));
  context.warn(reach.warnings);
  ProbedHosts probed = {reach, hosts_of(plan)};
  std::vector<HostTree> trees;
  if (context.code) {
    auto failure = TRY(find_commands(context, planned, token, prepared));
    if (failure) return PreparedJob{.failure = std::move(failure)};
    trees = context.code->trees(plan);
    reach = reach_of_plan(probed, plan);
  }
  const std::vector<Hello> hellos = TRY(context.agents.await_hellos(context.awaited));
  const TaskTable table = task_table(plan, job_name, reach);
  const auto sources = horovod_sources(config, plan, reach, hellos);
  auto rendezvous = TRY(open_rendezvous(runtime.loop(),
                                        {.ip = reach.launcher,
                                         .port = port,
                                         .token = token,
                                         .table = table,
                                         .dead_after = config.dead_after,
                                         .engine = engine_settings(config),
                                         .horovod_sources = sources},
                                        runtime.log()));
  JobFacts facts =
      job_facts(config, plan, table, {rendezvous->address(), token, sources.has_value()}, prepared);
  context.warn(overridden_warnings(config, plan, facts));
  return PreparedJob{.failure = {},
                     .generation = {.token = token,
                                    .forwarded = std::move(planned.forwarded),
                                    .need = planned.need,
                                    .probed = std::move(probed),
                                    .plan = std::move(plan),
                                    .bindings = std::move(planned.bindings),
                                    .reach = std::move(reach),
                                    .facts = std::move(facts),
                                    .start_deadline = context.start_deadline,
                                    .history = std::move(planned.history),
                                    .trees = std::move(trees)},
                     .output = std::move(output),
                     .held_port = std::move(held_port),
                     .rendezvous = std::move(rendezvous)};
}

}  // namespace dt

#include "launcher/job/run_generations.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/io/log.h"
#include "launcher/console/runtime.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/job/generations/restart_text.h"
#include "launcher/job/job.h"
#include "launcher/job/last_checkpoints.h"
#include "launcher/job/prepare_again.h"
#include "launcher/job/start/reach.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/report/conclusion.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dt {

namespace {

/// Returns why files lack output, if that ends the job.
std::optional<Error> lost_files(const RunConfig& config, const PreparedJob& prepared) {
  return config.end_on_lost_output.value_or(true) ? prepared.output->lost() : std::nullopt;
}

/// A job whose output is lost does not start again.
bool has_lost_output(const JobContext& context, const PreparedJob& prepared) {
  const bool reader_gone = context.config.ends_on_lost_output() && context.runtime.lost_output();
  return reader_gone || lost_files(context.config, prepared);
}

/// Returns the outcome of the last generation as that of the job, which counts what was lost.
Outcome last_outcome(const JobContext& context, const PreparedJob& prepared, Outcome outcome) {
  context.record.output = prepared.output->counts();
  context.record.rendezvous = prepared.rendezvous->counters();
  if (context.code && context.config.sync) context.record.sync = context.code->record();
  count_missing_checkpoints(*prepared.rendezvous, context.record, outcome);
  if (const auto lost = lost_files(context.config, prepared)) count_lost_output(outcome, *lost);
  return outcome;
}

/// The end of a generation.
struct GenerationEnd {
  Outcome outcome;
  bool starts_again = false;  ///< the agents have stayed
  /// Until RestartPolicy was asked whether the job starts again. The longest time: it was not.
  Duration lived = Duration::max();
};

/// Launches all tasks, and returns when they have ended, and the agents have exited or stay.
Result<GenerationEnd> run_generation(JobContext& context, const PreparedJob& prepared,
                                     const RestartPolicy& restarts) {
  const JobGeneration& generation = prepared.generation;
  const RunConfig& config = context.config;
  Runtime& runtime = context.runtime;
  Duration lived = Duration::max();
  std::function<bool(const Outcome&)> may_restart;
  if (config.restarts.max > 0) {
    may_restart = [&](const Outcome& failed) {
      if (has_lost_output(context, prepared)) return false;
      lived = Clock::now() - context.record.generations.back().began;
      return restarts.allows(failed, lived);
    };
  }
  std::function<Result<>(const AgentGroup::Awaited&)> before_exit;
  if (context.code)
    before_exit = [&](const AgentGroup::Awaited& until) {
      return context.code->finish(&generation.plan, until);
    };
  Job job({runtime.loop(), context.agents, *prepared.rendezvous, *prepared.output, runtime.log(),
           context.record, context.status, [] { Runtime::suspend(); }, context.own_children,
           before_exit},
          generation.plan, config,
          {.start_deadline = generation.start_deadline,
           .limit_since = context.limit_since,
           .may_restart = may_restart});
  const Runtime::SignalHandlerScope signals(runtime, [&job](int number) { job.signalled(number); });
  TRY(job.launch({generation.forwarded, generation.facts, generation.bindings, generation.reach,
                  generation.trees}));
  ignore_openssl_config();  // now, because the launcher waits for the agents anyway
  TRY(job.supervise());
  if (job.starts_again()) {
    if (config.timeout) context.limit_since = job.time_limit() - *config.timeout;
    return GenerationEnd{job.outcome(), true, lived};
  }
  TRY(job.collect());
  // A reader that went away is noticed only by a write: the counts of lost output need that write.
  if (config.report) runtime.drain(Clock::now() + drain_patience);
  return GenerationEnd{job.outcome(), false, lived};
}

/// Returns the outcome of the job that ends with this generation.
Outcome outcome_after(const JobContext& context, const RestartPolicy& restarts,
                      const GenerationEnd& last) {
  const Outcome* const first = restarts.first_of_series(last.outcome, last.lived);
  if (first == nullptr) return last.outcome;
  context.runtime.log().print("{}", short_lives_text());
  const std::vector<GenerationRecord>& all = context.record.generations;
  context.record.last_stderr = all[all.size() - short_lives_max].last_stderr;
  return *first;
}

/// Returns a number of 0 to 1; 0 without a random source.
double random_fraction() {
  uint32_t number = 0;
  const auto filled = random_bytes(std::as_writable_bytes(std::span(&number, 1)));
  return filled ? number / static_cast<double>(std::numeric_limits<uint32_t>::max()) : 0;
}

/// Finds the addresses of hosts that have joined the job. The rendezvous keeps its address.
Result<Reach> find_later_reach(JobContext& context, const PreparedJob& prepared, const Plan& plan,
                               const std::vector<Prepared>& answers,
                               const AgentGroup::Awaited& awaited) {
  const RunConfig& config = context.config;
  // Without a free port, agents relay for their tasks.
  const auto port = hold_rendezvous_port(config);
  const bool has_port = port && *port;
  return find_reach(context.runtime.loop(), context.agents, plan, answers,
                    {.token = prepared.generation.token,
                     .awaited = awaited,
                     .networks = config.networks,
                     .held_port = has_port ? (*port)->number : uint16_t{0},
                     .rendezvous = port ? prepared.rendezvous->address().ip : ""});
}

/// Returns the outcome of a job that does not start again, for the reason `why`, after `failed`.
Outcome outcome_without_restart(const JobContext& context, const Error& why, Outcome failed) {
  if (why.code == Errc::interrupted) return interrupted_outcome(context.runtime.interrupted());
  if (Clock::now() >= context.time_limit()) return time_limit_outcome(*context.config.timeout);
  context.runtime.log().error("the job cannot start again: {}", why.message);
  return failed;
}

}  // namespace

Result<Outcome> run_generations(JobContext& context, PreparedJob& prepared) {
  RestartPolicy restarts(context.config.restarts);
  const RestartParts parts = {.gathering = context.gathering_parts(prepared.generation.need),
                              .rendezvous = *prepared.rendezvous,
                              .output = *prepared.output,
                              .record = context.record,
                              .find_reach =
                                  [&](const Plan& plan, const std::vector<Prepared>& answers,
                                      const AgentGroup::Awaited& awaited) {
                                    return find_later_reach(context, prepared, plan, answers,
                                                            awaited);
                                  },
                              .random = random_fraction,
                              .code = context.code.get()};
  context.limit_since = Clock::now();
  for (;;) {
    context.record.begin_generation(Clock::now());
    const GenerationEnd end = TRY(run_generation(context, prepared, restarts));
    context.record.end_generation(end.outcome, Clock::now());
    if (!end.starts_again)
      return last_outcome(context, prepared, outcome_after(context, restarts, end));
    const WorldRestart restart = restarts.next(end.outcome, end.lived);
    const auto ready =
        prepare_again(parts, prepared.generation, restart, end.outcome, context.time_limit());
    if (!ready)
      return last_outcome(context, prepared,
                          outcome_without_restart(context, ready.error(), end.outcome));
    if (has_lost_output(context, prepared)) return last_outcome(context, prepared, end.outcome);
  }
}

}  // namespace dt

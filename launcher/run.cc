#include "launcher/run.h"

#include "base/crypto.h"
#include "base/format.h"
#include "base/log.h"
#include "base/signals.h"
#include "launcher/console.h"
#include "launcher/crew.h"
#include "launcher/job.h"
#include "launcher/ports.h"
#include "launcher/report.h"
#include "launcher/slots.h"
#include "rendezvous/server.h"

#include <unistd.h>

#include <csignal>

namespace dt {

namespace {

/// What lives as long as `dtrain run`: the loop, the two output streams, and the signals.
struct Stage {
  Loop& loop;
  Sink& out;
  Sink& err;
  Log& log;
  int interrupted = 0;  ///< the last signal that came before there was a job
  Job* job = nullptr;   ///< takes signals once there is one
};

/// The whole program: hosts, agents, plan, rendezvous, launch, supervision.
Result<Outcome> run_job(const RunConfig& config, const Environment& environment, Stage& stage) {
  const Time start_deadline = Clock::now() + config.start_timeout;
  const auto interrupted = [&stage] { return stage.interrupted != 0; };
  TRY(check_counts(config));
  const std::vector<Host> hosts = TRY(local_hosts(config));
  const Environment travelling = TRY(travelling_environment(environment, config.environment));

  Crew crew(stage.loop, {.heartbeat = config.heartbeat, .dead_after = config.dead_after});
  std::vector<Hello> hellos;
  if (!config.dry_run || !all_slots_known(hosts)) {
    TRY(crew.connect(hosts));
    hellos = TRY(crew.await_hellos(start_deadline, interrupted));
  }
  Plan plan = TRY(make_plan(plan_request(config, hosts, hellos)));
  if (config.dry_run) {
    stage.out.write(config.json ? plan_json(plan, config.command).text(2) + "\n"
                                : plan_text(plan, config.command),
                    {});
    return Outcome();
  }

  const Token token = TRY(Token::random());
  const TaskTable table = task_table(plan, TRY(random_name(8)));
  auto listening = RendezvousServer::listen(
      stage.loop, {.token = token, .table = table, .dead_after = config.dead_after}, stage.log);
  if (!listening) return fail(Errc::refused, "rendezvous: " + listening.error().message);
  RendezvousServer& rendezvous = **listening;
  const auto output = TRY(TaskOutput::open(
      plan, {.folder = config.output_dir, .tags = !config.no_tag, .quiet = config.quiet}, stage.out,
      stage.err, stage.log));

  const std::vector<Prepare> orders = prepare_orders(config, plan, table, token, travelling);
  const std::vector<Prepared> prepared = TRY(crew.prepare(orders, start_deadline, interrupted));
  if (const auto failed = preparation_failure(plan, orders, prepared)) return *failed;
  stage.log.info("{} tasks on {} host(s); rendezvous on {}", plan.tasks.size(), plan.hosts.size(),
                 rendezvous.address().text());
  const JobFacts facts = job_facts(plan, table, token, rendezvous.address(), prepared);

  Job job({stage.loop, crew, rendezvous, *output, stage.log}, std::move(plan), config);
  stage.job = &job;
  Result<> ran = job.launch(travelling, facts);
  if (ran) ran = job.supervise();
  stage.job = nullptr;
  TRY(std::move(ran));
  crew.collect(Clock::now() + config.grace);
  return job.outcome();
}

/// Lets what is queued for the console leave, until a person is tired of waiting for it.
void drain(Stage& stage) {
  while (!(stage.out.drained() && stage.err.drained()) && stage.interrupted == 0) {
    if (!stage.loop.run_once(Time::max())) return;
  }
}

}  // namespace

int run(const RunConfig& config, const Environment& environment) {
  const auto failed = [](const Error& error) {
    Log(Log::Level::normal, write_to_stderr).error("{}", error.message);
    return exit_status(error.code);
  };
  auto loop = Loop::create();
  if (!loop) return failed(loop.error());
  Log last_words(Log::Level::normal, write_to_stderr);
  auto out = Sink::open(**loop, STDOUT_FILENO, [&](const Error& error) {
    last_words.warn("standard output is closed ({}); the job goes on without it", error.message);
  });
  auto err = Sink::open(**loop, STDERR_FILENO, [](const Error&) {});
  if (!out || !err) return failed(!out ? out.error() : err.error());
  Log log(config.verbose ? Log::Level::verbose : Log::Level::normal,
          [&err](std::string_view line) { (*err)->write(std::string(line), {}); });
  Stage stage = {.loop = **loop, .out = **out, .err = **err, .log = log};
  const auto signals = Signals::block(
      **loop, {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGPIPE},
      [&stage](int number) {
        if (number == SIGPIPE) return;
        if (stage.job != nullptr) {
          stage.job->signalled(number);
        } else if (number != SIGUSR1 && number != SIGUSR2 && number != SIGWINCH) {
          stage.interrupted = number;
        }
      });
  if (!signals) return failed(signals.error());
  become_subreaper();

  for (const std::string& warning : config.warnings)
    log.warn("{}", warning);
  const auto outcome = run_job(config, environment, stage);
  int status = 0;
  if (outcome) {
    status = outcome->exit_status;
    if (!outcome->reason.empty()) log.error("{}", outcome->reason);
  } else if (outcome.error().code == Errc::interrupted) {
    status = 128 + stage.interrupted;
    stage.interrupted = 0;
  } else {
    log.error("{}", outcome.error().message);
    status = exit_status(outcome.error().code);
  }
  drain(stage);
  return status;
}

}  // namespace dt

#include "tests/sim/job/scenario.h"

#include "base/format.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

namespace dt {

namespace {

Duration between(Random& random, Duration low, Duration high) {
  return low + random.up_to(high - low);
}

Host named_host(size_t index, size_t slots) {
  return {.name = format("node{:04}", index), .slots = static_cast<int>(slots)};
}

ExitStatus random_death(Random& random) {
  if (random.percent(50)) return {.code = random.between(1, 20)};
  constexpr int signals[] = {SIGSEGV, SIGABRT, SIGKILL, SIGBUS};
  return {.signal = signals[random.below(std::size(signals))]};
}

TaskFate random_task(Random& random) {
  TaskFate fate = {.ignores_term = random.percent(35),
                   .start = between(random, milliseconds(1), milliseconds(20)),
                   .load = random.up_to(milliseconds(random.percent(20) ? 2000 : 30)),
                   .train = random.up_to(milliseconds(random.percent(20) ? 5000 : 100))};
  if (random.percent(40)) fate.clean_up = random.up_to(seconds(4));
  constexpr size_t sizes[] = {0, 0, 400, 100'000, 2'000'000};
  fate.output_bytes = sizes[random.below(std::size(sizes))];
  return fate;
}

/// Makes the task fail.
void spoil(Random& random, TaskFate& fate) {
  fate.end = static_cast<TaskFate::End>(random.between(1, 6));
  fate.status = random_death(random);
  if (fate.end == TaskFate::End::start_failure) fate.status = {.code = random.between(126, 127)};
}

/// Tries that fail, then one that succeeds; or only tries that fail. A port that has only refused
/// for two seconds gets no more tries. So one of three or more tries is reset.
std::vector<Login> random_logins(Random& random) {
  if (random.percent(70)) return {Login::agent};
  std::vector<Login> logins;
  const size_t refusals = random.below(5);
  for (size_t i = 0; i < refusals; ++i)
    logins.push_back(random.percent(50) && i != 1 ? Login::refused : Login::reset);
  constexpr Login good[] = {Login::agent, Login::push, Login::noise};
  const bool never = random.percent(12);
  logins.push_back(never ? static_cast<Login>(random.between(3, 9)) : good[random.below(3)]);
  return logins;
}

HostFate random_host(Random& random, size_t tasks) {
  HostFate fate = {.logins = random_logins(random),
                   .login = between(random, milliseconds(5), milliseconds(300)),
                   .nature = {.latency = random.up_to(milliseconds(random.percent(10) ? 500 : 5)),
                              .jitter = random.up_to(milliseconds(3))},
                   .prepare_failure = {},
                   .tasks = {}};
  if (random.percent(2)) {
    fate.prepare_failure = "train: not found in PATH";
    fate.prepare_status = 127;
  }
  for (size_t i = 0; i < tasks; ++i)
    fate.tasks.push_back(random_task(random));
  return fate;
}

Trouble random_trouble(Random& random, size_t hosts) {
  constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return {.kind = static_cast<Trouble::Kind>(random.below(10)),
          .phase = static_cast<Phase>(random.below(phases)),
          .delay = random.up_to(milliseconds(random.percent(50) ? 3 : 600)),
          .host = random.below(hosts),
          .signal = signals[random.below(std::size(signals))],
          .lasts = between(random, milliseconds(100), seconds(20)),
          .slip = static_cast<Slip>(random.below(slips))};
}

RunConfig random_config(Random& random) {
  RunConfig config;
  config.command = {"train", "--epochs", "3"};
  config.continue_on_failure = random.percent(20);
  config.grace = random.percent(30) ? Duration::zero() : random.up_to(seconds(10));
  // Hosts may refuse for longer than dtrain waits for one without a time limit of the user's.
  config.ssh.connect_timeout = seconds(10);
  if (random.percent(30)) config.placement.map_by = MapBy::node;
  if (random.percent(30)) config.placement.rank_by = MapBy::node;
  if (random.percent(30)) config.success.by = SuccessBy::worker_0;
  config.success.clean = static_cast<CleanUp>(random.below(3));
  config.dump_stacks = random.percent(30);
  if (random.percent(20)) config.timeout = random.up_to(seconds(8));
  if (random.percent(10)) config.start_timeout = between(random, milliseconds(50), seconds(2));
  return config;
}

/// The tasks call a collective, to which one of them may come late.
void add_collective(Random& random, Scenario& scenario) {
  scenario.config.stall_report = between(random, seconds(1), seconds(8));
  if (random.percent(10)) scenario.config.stall_report = Duration::zero();
  for (HostFate& host : scenario.hosts)
    for (TaskFate& task : host.tasks)
      task.meets = true;
  if (random.percent(40)) return;
  HostFate& host = scenario.hosts[random.below(scenario.hosts.size())];
  host.tasks[random.below(host.tasks.size())].late = random.up_to(seconds(15));
}

}  // namespace

bool Scenario::undisturbed() const {
  const auto goes_well = [](const HostFate& host) {
    return ends_well(host.logins.front()) && host.dialing != Dialing::never &&
           host.prepare_failure.empty() &&
           std::ranges::all_of(
               host.tasks, [](const TaskFate& task) { return task.end == TaskFate::End::well; });
  };
  return troubles.empty() && starter != StarterFate::fails && std::ranges::all_of(hosts, goes_well);
}

namespace {

Scenario scenario_without_restarts(Random& random) {
  Scenario scenario;
  scenario.config = random_config(random);
  scenario.resources = random.percent(40);
  const size_t hosts = 1 + random.below(8);
  const bool rendezvous = random.percent(85);
  for (size_t i = 0; i < hosts; ++i) {
    const size_t slots = 1 + random.below(3);
    scenario.config.hosts.push_back(named_host(i, slots));
    scenario.hosts.push_back(random_host(random, slots));
    for (TaskFate& task : scenario.hosts.back().tasks)
      task.joins = rendezvous;
  }
  if (rendezvous && random.percent(50)) add_collective(random, scenario);
  if (random.percent(20)) {
    for (HostFate& host : scenario.hosts) {
      host.logins = {Login::agent};
      host.prepare_failure.clear();
    }
    scenario.config.timeout.reset();
    scenario.config.start_timeout = seconds(30);
    return scenario;
  }
  const size_t troubles = random.below(4);
  for (size_t i = 0; i < troubles; ++i)
    scenario.troubles.push_back(random_trouble(random, hosts));
  if (troubles == 0 || random.percent(30)) {
    HostFate& host = scenario.hosts[random.below(hosts)];
    TaskFate& task = host.tasks[random.below(host.tasks.size())];
    spoil(random, task);
    // Nothing else would end the job.
    if (task.end == TaskFate::End::hangs) scenario.config.timeout = random.up_to(seconds(8));
  }
  return scenario;
}

/// Perhaps one more task fails while it trains.
void let_one_fail(Random& random, Scenario& scenario) {
  HostFate& host = scenario.hosts[random.below(scenario.hosts.size())];
  TaskFate& task = host.tasks[random.below(host.tasks.size())];
  if (task.end == TaskFate::End::well && random.percent(70)) {
    task.end = TaskFate::End::training;
    task.status = random_death(random);
  }
}

/// Some of the tasks are servers that always start again.
void add_servers(Random& random, Scenario& scenario) {
  int slots = 0;
  for (const Host& host : scenario.config.hosts)
    slots += host.slots;
  if (slots < 2) return;
  Role& workers = scenario.config.roles.front();
  workers.count = random.between(1, slots - 1);
  scenario.config.roles.push_back(
      {.name = "ps",
       .count = slots - workers.count,
       .ranked = false,
       .restarts = random.percent(50) ? restarts_unlimited : random.between(1, 3),
       .restarts_always = true});
}

/// Failed tasks are restarted. The programs survive the end of others, and fail a few times.
void add_restarts(Random& random, Scenario& scenario) {
  scenario.config.roles = {{.name = "worker", .restarts = random.between(1, 3)}};
  if (random.percent(40)) add_servers(random, scenario);
  for (HostFate& host : scenario.hosts) {
    for (TaskFate& task : host.tasks) {
      task.follows = false;
      task.failures = random.between(1, 4);
    }
  }
  let_one_fail(random, scenario);
}

void add_host(Random& random, Scenario& scenario, std::vector<Host>& list) {
  const size_t slots = 1 + random.below(3);
  list.push_back(named_host(scenario.hosts.size(), slots));
  scenario.hosts.push_back(random_host(random, slots));
  for (TaskFate& task : scenario.hosts.back().tasks) {
    task.joins = scenario.hosts.front().tasks.front().joins;
    task.follows = scenario.hosts.front().tasks.front().follows;
  }
}

/// The source of the hosts names others later, or cannot be read.
void add_readings(Random& random, Scenario& scenario) {
  const size_t more = random.below(3);
  for (size_t i = 0; i < more; ++i)
    add_host(random, scenario, scenario.later);
  std::vector<Host> all = scenario.config.hosts;
  all.insert(all.end(), scenario.later.begin(), scenario.later.end());
  const size_t readings = 1 + random.below(4);
  for (size_t i = 0; i < readings; ++i) {
    std::vector<Host> named;
    std::ranges::copy_if(all, std::back_inserter(named),
                         [&random](const Host&) { return random.percent(80); });
    const bool fails = random.percent(20);
    scenario.readings.push_back(fails ? std::nullopt : std::optional(std::move(named)));
  }
}

/// The number of ranks follows the hosts.
void add_size(Random& random, Scenario& scenario) {
  int slots = 0;
  for (const Host& host : scenario.config.hosts)
    slots += host.slots;
  JobSize size = {.ranks_min = random.between(1, slots)};
  if (random.percent(50)) size.ranks_max = random.between(size.ranks_min, slots + 2);
  if (random.percent(50))
    size.ranks_first = random.between(
        size.ranks_min, size.ranks_max == 0 ? slots : std::min(size.ranks_max, slots));
  scenario.config.restarts.size = size;
  scenario.config.restarts.elastic_timeout = between(random, seconds(5), seconds(60));
  scenario.config.roles = workers(0);
  if (random.percent(20))
    scenario.config.restarts.cooldown = CooldownRange{.least = seconds(1), .most = seconds(20)};
}

/// The whole job starts again after a failure, perhaps with spares for lost hosts, or other hosts.
/// Its programs fail a few times.
void add_generations(Random& random, Scenario& scenario) {
  scenario.config.restarts.max = static_cast<uint32_t>(random.between(1, 4));
  if (random.percent(35)) {
    add_size(random, scenario);
  } else if (random.percent(50)) {
    const size_t spares = random.below(3);
    for (size_t i = 0; i < spares; ++i)
      add_host(random, scenario, scenario.config.restarts.spares);
  }
  if (random.percent(30)) add_readings(random, scenario);
  for (HostFate& host : scenario.hosts)
    for (TaskFate& task : host.tasks)
      task.failures = random.between(1, 4);
  let_one_fail(random, scenario);
}

bool has_collective(const Scenario& scenario) {
  return scenario.hosts.front().tasks.front().meets;
}

}  // namespace

Scenario random_scenario(Random& random) {
  Scenario scenario = scenario_without_restarts(random);
  if (!has_collective(scenario) && random.percent(40)) add_restarts(random, scenario);
  if (!has_collective(scenario) && random.percent(40)) add_generations(random, scenario);
  return scenario;
}

void make_dialed(Random& random, Scenario& scenario) {
  scenario.dialed = true;
  if (random.percent(30)) scenario.starter = static_cast<StarterFate>(random.below(starter_fates));
  for (HostFate& host : scenario.hosts) {
    if (random.percent(20)) host.dialing = static_cast<Dialing>(random.below(dialings));
    host.logins = {Login::agent};
  }
  if (!random.percent(25)) return;
  Trouble stop = random_trouble(random, scenario.hosts.size());
  stop.kind = Trouble::Kind::scheduler_stop;
  for (stop.host = 0; stop.host < scenario.hosts.size(); ++stop.host) {
    stop.delay += random.up_to(milliseconds(5));
    scenario.troubles.push_back(stop);
  }
  if (random.percent(50)) return;  // only the step is cancelled
  stop.kind = Trouble::Kind::signal;
  stop.signal = SIGTERM;
  scenario.troubles.push_back(stop);
}

Scenario large_scenario(Random& random, size_t hosts, size_t tasks_per_host) {
  Scenario scenario;
  scenario.config.command = {"train", "--epochs", "3"};
  for (size_t i = 0; i < hosts; ++i) {
    scenario.config.hosts.push_back(named_host(i, tasks_per_host));
    HostFate host = {.logins = {Login::agent},
                     .login = between(random, milliseconds(30), milliseconds(150)),
                     .nature = {.latency = between(random, microseconds(100), milliseconds(1)),
                                .jitter = microseconds(200)},
                     .prepare_failure = {},
                     .tasks = {}};
    for (size_t task = 0; task < tasks_per_host; ++task) {
      host.tasks.push_back({.start = between(random, milliseconds(1), milliseconds(20)),
                            .load = between(random, milliseconds(1), milliseconds(100)),
                            .train = milliseconds(20),
                            .output_bytes = 200});
    }
    scenario.hosts.push_back(std::move(host));
  }
  return scenario;
}

}  // namespace dt

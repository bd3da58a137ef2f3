#include "launcher/plan/success_rule.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/job/supervision/supervisor.h"

#include <doctest/doctest.h>

#include <csignal>

namespace dt {
namespace {

bool is_ranked(const std::string& role) {
  return role == "chief" || role == "master" || role == "worker";
}

/// Makes a plan from "chief worker worker ps": one task for each, on one host, in rank order.
Plan plan_of(std::string_view roles) {
  Plan plan;
  plan.hosts.push_back({.host = {.name = "node", .user = {}, .slots = 8}});
  std::map<std::string, int> counts;
  for (const std::string_view word : split_words(roles)) {
    const std::string role(word);
    plan.add({.id = {role, counts[role]++}, .rank = is_ranked(role) ? plan.world_size++ : -1});
  }
  return plan;
}

/// One letter for each task: D decides, e is excused, l lingers, - none.
std::string letters(const std::vector<TaskRule>& parts) {
  std::string text;
  for (const TaskRule& part : parts)
    text += part.decides ? 'D' : part.excused ? 'e' : part.lingers ? 'l' : '-';
  return text;
}

const SuccessOptions automatic = {};
const SuccessOptions chief = {.by = SuccessBy::chief};
const SuccessOptions worker_0 = {.by = SuccessBy::worker_0};
const SuccessOptions all_workers = {.by = SuccessBy::all_workers};
const SuccessOptions all = {.by = SuccessBy::all};

struct RuleCase {
  const char* roles;
  SuccessOptions wanted;
  const char* parts;
};

TEST_CASE("some tasks decide, some are excused, and some get time to end by themselves") {
  const RuleCase cases[] = {
      {"worker worker worker", automatic, "DDD"},
      {"chief worker worker", automatic, "Dll"},
      {"master worker evaluator", automatic, "Dle"},
      {"chief worker ps evaluator", automatic, "D--e"},
      {"worker worker ps ps", automatic, "DD--"},
      {"worker evaluator", automatic, "De"},
      {"ps client", automatic, "DD"},
      {"master chief worker", chief, "DDl"},
      {"worker worker ps", worker_0, "D--"},
      {"chief worker worker", worker_0, "lDl"},
      {"chief worker ps evaluator", all_workers, "DD-e"},
      {"worker ps evaluator", all, "DDD"},
      {"worker worker client", {.by = SuccessBy::role, .role = "client"}, "--D"},
      {"worker ps evaluator", {.by = SuccessBy::role, .role = "evaluator"}, "--D"},
      {"chief worker ps", {.by = SuccessBy::role, .role = "worker"}, "-D-"},
  };
  for (const RuleCase& c : cases) {
    CAPTURE(c.roles);
    CHECK(letters(success_rule(plan_of(c.roles), c.wanted)) == c.parts);
    CHECK(check_success(c.wanted, plan_of(c.roles)));
  }
}

TEST_CASE("in a partial plan all tasks here decide, unless the chief is here") {
  const RuleCase cases[] = {
      {"worker", automatic, "D"},
      {"worker ps", automatic, "DD"},
      {"chief ps", automatic, "D-"},
      {"evaluator", automatic, "D"},
      {"ps", chief, "D"},
      {"ps worker", chief, "DD"},
      {"ps", worker_0, "D"},
      {"ps", all_workers, "D"},
      {"worker ps", all_workers, "D-"},
      {"ps", {.by = SuccessBy::role, .role = "client"}, "D"},
  };
  for (const RuleCase& c : cases) {
    CAPTURE(c.roles);
    Plan plan = plan_of(c.roles);
    plan.external_layout = {.tasks_elsewhere = 4};
    plan.world_size = 2;
    for (const char* role : {"chief", "worker", "ps", "client"})
      plan.roles.push_back({.name = role, .count = 1});
    CHECK(letters(success_rule(plan, c.wanted)) == c.parts);
    CHECK(check_success(c.wanted, plan));
    CHECK_FALSE(check_success({.by = SuccessBy::role, .role = "scheduler"}, plan));
  }
}

TEST_CASE("an option by which no task decides is refused with the roles of the job") {
  struct Case {
    SuccessOptions wanted;
    const char* error;
  };
  const Case cases[] = {
      {{.by = SuccessBy::role, .role = "cheif"},
       "--success role:cheif: this job has no such task; its roles: ps, client"},
      {{.by = SuccessBy::chief},
       "--success chief: this job has no such task; its roles: ps, client"},
      {{.by = SuccessBy::worker_0},
       "--success worker-0: this job has no such task; its roles: ps, client"},
      {{.by = SuccessBy::all_workers},
       "--success all-workers: this job has no such task; its roles: ps, client"},
  };
  for (const Case& c : cases)
    CHECK(check_success(c.wanted, plan_of("ps ps client")).error().message == c.error);
}

TEST_CASE("a role that decides cannot always start again, and the error names a way") {
  struct Case {
    const char* roles;
    const char* always;
    SuccessOptions wanted;
    const char* error;
  };
  const Case cases[] = {
      {"worker ps", "ps", automatic, nullptr},
      {"chief worker ps", "worker", automatic, nullptr},
      {"chief worker ps", "chief", {.by = SuccessBy::never}, nullptr},
      {"worker evaluator", "evaluator", automatic, nullptr},
      {"worker ps", "worker", {.by = SuccessBy::role, .role = "ps"}, nullptr},
      {"worker worker", "worker", automatic, "all-workers the job ends when worker:0"},
      {"worker worker ps", "worker", worker_0, "worker-0 the job ends when worker:0"},
      {"worker ps", "ps", all, "all the job ends when ps:0"},
      {"worker client",
       "client",
       {.by = SuccessBy::role, .role = "client"},
       "role:client the job ends when client:0"}};
  for (const Case& c : cases) {
    CAPTURE(c.roles);
    Plan plan = plan_of(c.roles);
    plan.roles = {{.name = c.always, .restarts = 2, .restarts_always = true}};
    const Result<> checked = check_success(c.wanted, plan);
    CHECK(checked.has_value() == (c.error == nullptr));
    if (checked) continue;
    CHECK(checked.error().message ==
          format("--restart-role {0}=always:2: by --success {1} has ended, which then cannot start "
                 "again; use --restart-role {0}=N for failures alone, or a --success of other "
                 "tasks",
                 c.always, c.error));
  }
}

struct Fixture {
  Time now = Time() + seconds(1000);
  Supervisor::Options options = {.grace = seconds(10), .start_deadline = now + seconds(30)};

  Supervisor start(std::string_view roles) const {
    const Plan plan = plan_of(roles);
    Supervisor job(plan, options, now);
    for (size_t task = 0; task < plan.tasks.size(); ++task)
      job.started(task, 100 + static_cast<int64_t>(task), now);
    return job;
  }
};

/// The actions except notifications, one word each.
std::string words(const Actions& actions) {
  std::string text;
  for (const Action& action : actions) {
    if (action.kind == Action::Kind::notify) continue;
    text += text.empty() ? "" : " ";
    text += action.kind == Action::Kind::warn     ? "warn"
            : action.kind == Action::Kind::finish ? "finish"
            : action.signal == SIGTERM            ? "TERM"
            : action.signal == SIGKILL            ? "KILL"
                                                  : "?";
  }
  return text;
}

const ExitStatus good = {};
const ExitStatus bad = {.code = 3};
const ExitStatus termed = {.signal = SIGTERM};

TEST_CASE_FIXTURE(Fixture, "when the chief is done, servers are ended and have completed") {
  Supervisor job = start("chief worker ps evaluator");
  CHECK(words(job.exited(0, good, now)) == "TERM");
  CHECK(job.done());
  CHECK(job.next_deadline() == now + options.grace);
  CHECK(words(job.exited(1, termed, now)).empty());
  CHECK(words(job.exited(2, bad, now)).empty());
  CHECK(words(job.tick(now + options.grace)) == "KILL");
  CHECK(words(job.exited(3, {.signal = SIGKILL}, now)) == "finish");
  CHECK(job.outcome() == Outcome{});
  for (size_t task = 0; task < 4; ++task)
    CHECK(job.lives().completed(task));
}

TEST_CASE_FIXTURE(Fixture, "the chief's workers get the grace to end by themselves before TERM") {
  Supervisor job = start("chief worker worker evaluator");
  CHECK(words(job.exited(0, good, now)).empty());
  CHECK(words(job.exited(1, bad, now)).empty());  // fails since its peer has ended
  CHECK(words(job.tick(now + options.grace - milliseconds(1))).empty());
  SUBCASE("TERM when they do not") {
    CHECK(words(job.tick(now + options.grace)) == "TERM");
    CHECK(job.next_deadline() == now + options.grace + options.grace);
  }
  SUBCASE("at once when they have") {
    CHECK(words(job.exited(2, good, now)) == "TERM");
    CHECK(words(job.exited(3, termed, now)) == "finish");
  }
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(Fixture,
                  "without a chief all workers must end well, and then the ps has completed") {
  Supervisor job = start("worker worker ps");
  CHECK(words(job.exited(1, good, now)).empty());
  CHECK(words(job.exited(0, good, now)) == "TERM");
  CHECK(words(job.exited(2, termed, now)) == "finish");
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(Fixture,
                  "a task that fails before the end fails the job, whether it decides or not") {
  for (const size_t task : {0, 1, 2}) {
    Supervisor job = start("chief worker ps");
    CHECK(words(job.exited(task, bad, now)) == "TERM");
    CHECK(job.outcome().exit_status == 3);
    CHECK_FALSE(job.done());
    CHECK_FALSE(job.lives().completed(task));
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "training continues without its evaluator, unless all tasks must succeed") {
  Supervisor job = start("chief worker evaluator");
  const Actions actions = job.exited(2, bad, now);
  REQUIRE(words(actions) == "warn");
  CHECK(actions.back().text ==
        "evaluator:0 (host node, pid 102) failed: exit status 3; the training goes on without it");
  CHECK_FALSE(job.lives().completed(2));
  job.exited(1, good, now);
  CHECK(words(job.exited(0, good, now)) == "finish");
  CHECK(job.outcome() == Outcome{.failed_tasks = 1});

  options.success.by = SuccessBy::all;
  Supervisor strict = start("chief worker evaluator");
  CHECK(words(strict.exited(2, bad, now)) == "TERM");
  CHECK(strict.outcome().exit_status == 3);
}

TEST_CASE_FIXTURE(Fixture, "an evaluator that ends with a failed job is not reported") {
  Supervisor job = start("chief worker evaluator");
  job.exited(0, bad, now);
  CHECK(words(job.exited(2, termed, now)).empty());
  CHECK(words(job.exited(1, termed, now)) == "finish");
  CHECK(job.outcome().failed_tasks == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "--on-failure continue ends the servers when the last worker has ended") {
  options.continue_on_failure = true;
  Supervisor job = start("worker worker ps");
  CHECK(words(job.exited(0, bad, now)).empty());
  CHECK(words(job.exited(1, good, now)) == "TERM");
  CHECK(words(job.exited(2, termed, now)) == "finish");
  CHECK(job.outcome().exit_status == 3);
  CHECK(job.outcome().failed_tasks == 1);
}

TEST_CASE_FIXTURE(Fixture, "--clean none waits for the others, up to the time limit") {
  options.success.clean = CleanUp::none;
  options.timeout = seconds(100);
  Supervisor job = start("chief worker ps");
  CHECK(words(job.exited(0, good, now)).empty());
  CHECK(words(job.exited(1, bad, now)).empty());
  CHECK(job.next_deadline() == now + seconds(100));
  SUBCASE("they end") {
    CHECK(words(job.exited(2, good, now)) == "finish");
    CHECK(job.outcome() == Outcome{});
  }
  SUBCASE("they do not") {
    CHECK(words(job.tick(now + seconds(100))) == "TERM");
    CHECK(job.outcome().exit_status == 124);
  }
  SUBCASE("Ctrl-C") {
    CHECK(words(job.interrupted(SIGTERM, now)) == "TERM");
    CHECK(job.outcome().exit_status == 143);
  }
}

TEST_CASE_FIXTURE(Fixture, "--clean all leaves tasks and what they left behind to the agents") {
  options.success.clean = CleanUp::all;
  Supervisor job = start("chief worker ps");
  CHECK(words(job.exited(0, good, now)) == "finish");
  CHECK(job.finishing());
  CHECK(words(job.exited(1, termed, now)).empty());
  CHECK(words(job.exited(2, {.signal = SIGKILL}, now)).empty());
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(Fixture, "a task that did not start in time is not needed after the end") {
  Supervisor job(plan_of("chief ps"), options, now);
  job.started(0, 100, now);
  CHECK(words(job.exited(0, good, now)) == "TERM");
  CHECK(words(job.start_failed(1, 127, "not found", now)) == "finish");
  CHECK(job.outcome() == Outcome{});
}

/// A ps, a worker and a chief, each on its own host, in this order.
Plan plan_on_hosts() {
  Plan plan;
  for (const char* name : {"a", "b", "c"})
    plan.hosts.push_back({.host = {.name = name, .user = {}, .slots = 1}});
  plan.add({.id = {"ps", 0}, .rank = -1, .agent = 0});
  plan.add({.id = {"worker", 0}, .rank = 1, .agent = 1});
  plan.add({.id = {"chief", 0}, .rank = 0, .agent = 2});
  return plan;
}

TEST_CASE_FIXTURE(Fixture,
                  "a host that is lost when the job is done is a warning, and no failure") {
  SUBCASE("as all are being ended") {
  }
  SUBCASE("as the agents end what is left") {
    options.success.clean = CleanUp::all;
  }
  SUBCASE("as the others are waited for") {
    options.success.clean = CleanUp::none;
  }
  Supervisor job(plan_on_hosts(), options, now);
  for (size_t task = 0; task < 3; ++task)
    job.started(task, 100, now);
  job.exited(2, good, now);
  const bool waits = options.success.clean == CleanUp::none;
  const bool finished = options.success.clean == CleanUp::all;
  const Actions actions = job.agent_lost(0, "no heartbeat for 5s", now);
  CHECK(words(actions) == "warn");
  CHECK(actions.back().text == "agent on a lost: no heartbeat for 5s; the job was done without it");
  CHECK_FALSE(job.lives().completed(0));
  CHECK(words(job.exited(1, waits ? good : termed, now)) == (finished ? "" : "finish"));
  CHECK(job.outcome() == Outcome{});
}

TEST_CASE_FIXTURE(Fixture, "a host that is lost before the job is done fails it") {
  Supervisor job(plan_on_hosts(), options, now);
  job.exited(1, good, now);
  CHECK(words(job.agent_lost(2, "no heartbeat for 5s", now)) == "TERM");
  CHECK(words(job.exited(0, termed, now)) == "finish");
  CHECK(job.outcome().exit_status == 3);
}

TEST_CASE_FIXTURE(Fixture, "time limits do not make a failure of a job that is done") {
  options.timeout = seconds(5);
  Supervisor job(plan_of("chief worker ps"), options, now);
  job.started(0, 100, now);
  job.started(1, 101, now);
  CHECK(words(job.exited(0, good, now)) == "TERM");
  CHECK(words(job.tick(now + seconds(9))).empty());
  CHECK(words(job.tick(now + options.grace)) == "KILL");
  CHECK(job.outcome() == Outcome{});

  Supervisor lingering = start("chief worker");
  lingering.exited(0, good, now);
  CHECK(lingering.next_deadline() == now + options.grace);
  CHECK(words(lingering.tick(now + seconds(6))).empty());
  CHECK(words(lingering.exited(1, good, now + seconds(6))) == "finish");
  CHECK(lingering.outcome() == Outcome{});
}

TEST_CASE("workers are to spare only where a least number of them is wanted") {
  const auto spares = [](const char* roles, int workers_min) {
    std::string text;
    for (const TaskRule& rule : success_rule(plan_of(roles), {.workers_min = workers_min}))
      text += rule.spare ? 's' : '-';
    return text;
  };
  CHECK(spares("worker worker ps", 0) == "---");
  CHECK(spares("worker worker ps", 1) == "ss-");
  CHECK(spares("chief worker ps evaluator", 1) == "-s--");
  CHECK(check_success({.workers_min = 2}, plan_of("worker worker ps")));
  CHECK(check_success({.workers_min = 3}, plan_of("worker worker ps")).error().message ==
        "--min-workers 3: the job has 2 workers");
}

TEST_CASE_FIXTURE(Fixture, "training continues without workers down to the least number") {
  options.success.workers_min = 2;
  Supervisor job = start("worker worker worker worker ps");
  CHECK(words(job.exited(1, {.signal = SIGKILL}, now)) == "warn");
  CHECK(words(job.exited(2, bad, now)) == "warn");
  CHECK_FALSE(job.lives().completed(1));
  SUBCASE("and succeeds when the others do") {
    CHECK(words(job.exited(0, good, now)).empty());
    CHECK(words(job.exited(3, good, now)) == "TERM");
    CHECK(job.done());
    CHECK(words(job.exited(4, termed, now)) == "finish");
    CHECK(job.outcome() == Outcome{.failed_tasks = 2});
  }
  SUBCASE("and one more is the failure of the job") {
    CHECK(words(job.exited(3, bad, now)) == "TERM");
    CHECK(job.outcome().exit_status == 3);
    CHECK(job.outcome().failure->task == TaskId{"worker", 3});
    CHECK(job.outcome().failed_tasks == 3);
  }
  SUBCASE("and a server is never excused") {
    CHECK(words(job.exited(4, bad, now)) == "TERM");
    CHECK(job.outcome().exit_status == 3);
  }
}

TEST_CASE_FIXTURE(Fixture, "training continues without rank 0, whose failure is that of the job") {
  options.success.workers_min = 1;
  Supervisor job = start("worker worker worker ps");
  const Actions actions = job.exited(0, {.signal = SIGKILL}, now);
  REQUIRE(words(actions) == "warn");
  CHECK(actions.back().text == "the training goes on without rank 0; the exit status will be 137");
  CHECK(words(job.exited(1, bad, now)) == "warn");
  CHECK(words(job.exited(2, good, now)) == "TERM");
  CHECK(words(job.exited(3, termed, now)) == "finish");
  CHECK(job.outcome().exit_status == 137);
  CHECK(job.outcome().failure->task == TaskId{"worker", 0});
  CHECK(job.outcome().failed_tasks == 2);
}

TEST_CASE_FIXTURE(Fixture, "a worker that the launcher has ended is not excused") {
  options.success.workers_min = 1;
  Supervisor job = start("worker worker ps");
  job.interrupted(SIGTERM, now);
  job.exited(0, termed, now);
  job.exited(1, termed, now);
  CHECK(job.outcome().exit_status == 128 + SIGTERM);
}

TEST_CASE_FIXTURE(Fixture, "a lost host is excused if all its tasks are") {
  const auto lost = [&](const char* first, const char* second, int workers_min) {
    options.success.workers_min = workers_min;
    Plan plan = plan_of(first);
    plan.hosts.push_back({.host = {.name = "other", .user = {}, .slots = 8}});
    std::map<std::string, int> counts;
    for (const std::string_view word : split_words(second)) {
      const std::string role(word);
      plan.add({.id = {role, 10 + counts[role]++},
                .rank = is_ranked(role) ? plan.world_size++ : -1,
                .agent = 1});
    }
    Supervisor job(plan, options, now);
    for (size_t task = 0; task < plan.tasks.size(); ++task)
      job.started(task, 100 + static_cast<int64_t>(task), now);
    const std::string text = words(job.agent_lost(1, "no heartbeat for 5s", now));
    return format("{} {}", text, job.outcome().exit_status);
  };
  CHECK(lost("worker ps", "worker worker", 1) == "warn warn 0");
  CHECK(lost("worker ps", "worker worker", 2) == "TERM 3");
  CHECK(lost("worker", "worker ps", 1) == "TERM 3");
  options.success.servers_replicated = true;
  CHECK(lost("worker ps", "worker ps", 1) == "warn warn 0");
  CHECK(lost("worker ps", "ps", 0) == "warn 0");
  CHECK(lost("worker ps", "ps ps", 0) == "TERM 3");
}

}  // namespace
}  // namespace dt

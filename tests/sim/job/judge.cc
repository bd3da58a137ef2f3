#include "tests/sim/job/judge.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/job/generations/restart_delay.h"
#include "launcher/job/generations/restart_policy.h"
#include "launcher/plan/success_rule.h"

#include <algorithm>

namespace dt {

namespace {

/// The limit from the first try to connect until the last message of the slowest agent. It has the
/// time to connect, the slowest program and the grace. Tasks that may end by themselves add a
/// second grace. The Supervisor and the agents wait some time after kills.
constexpr Duration longest_job = seconds(70);
/// How long a job waits for lost hosts before it starts again.
constexpr Duration longest_gathering = seconds(35);
/// Restarts add up to three waits, and runs of the slowest program.
constexpr Duration longest_restarts = seconds(35);
/// The time in which ranks and agents answer before a stall is logged, over the slowest network.
constexpr Duration stall_noticed_within = seconds(5);
/// The record of a generation ends after its agents have answered.
constexpr Duration longest_short_life = short_life + seconds(30);

int restarts_of(const Judge::End& end, const TaskId& task) {
  const Role* const role = find_role(end.plan.roles, task.role);
  return role == nullptr ? 0 : role->restarts;
}

bool always_restarts(const Judge::End& end, const TaskId& task) {
  const Role* const role = find_role(end.plan.roles, task.role);
  return role != nullptr && role->restarts_always;
}

bool host_lost(const Judge::End& end, size_t host) {
  return end.record.contained_by[host].empty();
}

/// True if a job without a limit of restarts ends because it fails again and again at once.
bool ended_series(const Judge::End& end) {
  const std::vector<GenerationRecord>& all = end.record.generations;
  return end.config.restarts.max == unlimited_restarts && all.size() >= short_lives_max &&
         std::all_of(all.end() - short_lives_max, all.end(), [](const GenerationRecord& one) {
           return one.ended && *one.ended - one.began < longest_short_life;
         });
}

}  // namespace

void Judge::note(Time now, const std::string& event) {
  const auto at = duration_cast<microseconds>(now.time_since_epoch()).count();
  const std::string line = format("{}.{:06} {}\n", at / 1'000'000, at % 1'000'000, event);
  for (const char c : line)
    trace_ = (trace_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  if (story_wanted_) story_ += line;
}

void Judge::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = format("{}: {}", name_, what);
}

void Judge::stand_still(Time now) {
  still_since_ = now;
  still_until_ = Time::max();
}

void Judge::resume(Time now) {
  still_ += now - still_since_;
  still_until_ = now;
}

void Judge::logged(const std::string& line) {
  const bool restarts = line.find("; restart ") != std::string::npos;
  if ((line.find(" failed: ") != std::string::npos && !restarts) ||
      line.find(" could not be started: ") != std::string::npos)
    ++reports_;
  if (line.find(" stalls for ") != std::string::npos) stalls_.push_back(line);
  if (line.find("each alone: MPI") != std::string::npos) ++mpi_warnings_;
}

void Judge::called(int rank, bool all, Time now) {
  called_.insert(rank);
  if (!first_call_) first_call_ = now;
  if (all) last_call_ = now;
  if (all) last_rank_ = rank;
}

void Judge::heard(const Attempt& who, const Notice& notice) {
  if (notice.kind != Notice::Kind::dead) return;
  const Attempt dead = {notice.task, notice.attempt, who.generation};
  if (!heard_.emplace(who, dead, notice.returns).second)
    complain(format("{} heard twice of the death of {}", who.task.text(), notice.task.text()));
}

void Judge::shown(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    unfinished_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    line_whole(unfinished_);
    unfinished_.clear();
    bytes.remove_prefix(end + 1);
  }
}

/// Tasks write neither letters nor brackets, so that the check finds a line within another line.
void Judge::line_whole(std::string_view line) {
  constexpr std::string_view tag_end = "]<stdout>:";
  const size_t tag = line.find(tag_end);
  const bool of_task = line.starts_with('[') && tag != std::string_view::npos &&
                       line.find_first_not_of('.', tag + tag_end.size()) == std::string_view::npos;
  const bool of_dtrain = line.starts_with("dtrain: ") && tag == std::string_view::npos;
  if (!of_task && !of_dtrain) complain(format("a torn line: {}", printable(line)));
}

void Judge::all_notified(const Attempt& dead, Time known, const std::vector<Attempt>& listening) {
  if (still_until_ >= known) return;
  for (const Attempt& task : listening) {
    if (!heard_.contains({task, dead, false}) && !heard_.contains({task, dead, true}))
      complain(format("{} has not heard of the death of {}", task.task.text(), dead.task.text()));
  }
}

void Judge::stands_still(const std::vector<std::unique_ptr<SimulatedHost>>& hosts) {
  for (const auto& host : hosts) {
    for (const SimulatedHost::Running& running : host->tasks()) {
      if (host->agent_serves() && !host->is_cut() && running.task->alive() &&
          !running.task->stopped())
        complain(format("{} runs while the job is paused", running.id.text()));
    }
  }
}

void Judge::at_end(const End& end) {
  ends_in_time(end);
  right_status(end);
  done_stays_done(end);
  one_report(end);
  one_stall(end);
  restarts_used(end);
  always_restarted(end);
  generations_used(end);
  right_size(end);
  if (end.hosts.empty()) return;
  all_accounted(end);
  output_whole(end);
  if (!unfinished_.empty()) complain("the console ends within a line");
}

void Judge::ends_in_time(const End& end) {
  const bool restarts =
      std::ranges::any_of(end.plan.roles, [](const Role& role) { return role.restarts > 0; });
  const auto starts = static_cast<int>(std::max<size_t>(1, end.record.generations.size()));
  const RestartOptions& restart = end.config.restarts;
  const Duration start = longest_job + (restart.max > 0 ? longest_gathering : Duration::zero()) +
                         (restart.size ? restart.elastic_timeout : Duration::zero());
  if (end.took - still_ > starts * start + (restarts ? longest_restarts : Duration::zero()))
    complain(format("it took {}", duration_text(std::chrono::round<milliseconds>(end.took))));
}

void Judge::right_status(const End& end) {
  const int status = end.outcome.exit_status;
  if (status == 0 && !allowed_.empty()) {
    // A disturbance may come too late to have an effect, such as a signal after the last exit.
    const std::vector<TaskRule> parts = success_rule(end.plan, end.config.success);
    for (size_t task = 0; task < end.record.tasks.size(); ++task) {
      const TaskRecord& record = end.record.tasks[task];
      // When the job is done, a task that does not decide may end in any way; so may its host. Or
      // it waits for a restart.
      const int restarts = restarts_of(end, end.plan.tasks[task].id);
      const bool waited = record.earlier.size() < static_cast<size_t>(restarts);
      if (!parts[task].decides && (!record.exit || record.completed || waited)) continue;
      if (!record.exit || !record.exit->good())
        complain(
            format("exit status 0 although {} did not end well", end.plan.tasks[task].id.text()));
    }
  }
  if (status != 0 && !allowed_.contains(status))
    complain(format("exit status {} ({}) for no reason", status, end.outcome.reason));
  if (status == 0 && (end.outcome.failure || !end.outcome.reason.empty()))
    complain("exit status 0 and a failure: " + end.outcome.reason);
}

void Judge::done_stays_done(const End& end) {
  if (!end.outcome.failure) return;
  const std::vector<TaskRule> parts = success_rule(end.plan, end.config.success);
  Time done = Time::min();
  Time failed = Time::min();
  for (size_t task = 0; task < end.record.tasks.size(); ++task) {
    const TaskRecord& record = end.record.tasks[task];
    const bool good = record.exit && record.exit->good();
    if (parts[task].decides && !good) return;
    if (parts[task].decides) done = std::max(done, *record.ended);
    if (end.plan.tasks[task].id == end.outcome.failure->task && record.ended)
      failed = *record.ended;
  }
  if (failed > done)
    complain(format("{} failed when the job was done", end.outcome.failure->task.text()));
}

void Judge::one_report(const End& end) {
  const auto wanted = static_cast<int>(std::ranges::count_if(
      end.record.generations,
      [](const GenerationRecord& generation) { return generation.failure.has_value(); }));
  if (reports_ != wanted) complain(format("{} failures reported, not {}", reports_, wanted));
  if (mpi_warnings_ > 1) complain(format("{} warnings of MPI", mpi_warnings_));
}

void Judge::one_stall(const End& end) {
  const Duration waited =
      first_call_ ? last_call_.value_or(end.ended) - *first_call_ : Duration::zero();
  const bool possible =
      end.config.stall_report > Duration::zero() && waited >= end.config.stall_report;
  if (stalls_.size() > (possible ? 1 : 0))
    complain(format("{} stalls reported in {}", stalls_.size(),
                    duration_text(std::chrono::round<milliseconds>(waited))));
  if (!possible || !end.undisturbed) return;
  if (stalls_.empty() && waited > end.config.stall_report + stall_noticed_within)
    return complain("a stall was not reported: " +
                    duration_text(std::chrono::round<milliseconds>(waited)));
  if (stalls_.empty()) return;
  for (const Task& task : end.plan.tasks) {
    const bool named =
        stalls_[0].find(format("\ndtrain:   rank {} (host ", task.rank)) != std::string::npos;
    const bool late = task.rank == last_rank_ || !called_.contains(task.rank);
    if (named != late)
      complain(format("rank {} in the report of a stall: {}", task.rank, stalls_[0]));
  }
}

void Judge::restarts_used(const End& end) {
  for (size_t task = 0; task < end.record.tasks.size(); ++task) {
    const TaskId& id = end.plan.tasks[task].id;
    const auto used = static_cast<int>(end.record.tasks[task].earlier.size());
    const int most = restarts_of(end, id);
    if (used > most) complain(format("{} was restarted {} times of {}", id.text(), used, most));
    const bool failed = end.outcome.failure && end.outcome.failure->task == id;
    // A program that cannot be started is not tried again.
    if (failed && end.outcome.failure->pid > 0 && used < most)
      complain(format("{} failed for good with {} of {} restarts", id.text(), used, most));
  }
}

void Judge::always_restarted(const End& end) {
  // A pause makes waits longer. A job that fails stops before its tasks that decide have ended.
  if (end.outcome.exit_status != 0 || still_ > Duration::zero()) return;
  const std::vector<TaskRule> parts = success_rule(end.plan, end.config.success);
  Time done = Time::min();
  for (size_t task = 0; task < parts.size(); ++task)
    if (parts[task].decides && end.record.tasks[task].ended)
      done = std::max(done, *end.record.tasks[task].ended);
  for (size_t task = 0; task < parts.size(); ++task) {
    const TaskId& id = end.plan.tasks[task].id;
    const TaskRecord& record = end.record.tasks[task];
    const auto used = static_cast<int>(record.earlier.size());
    if (!always_restarts(end, id) || !record.ended || used >= restarts_of(end, id)) continue;
    if (*record.ended + restart_delay(static_cast<uint32_t>(used) + 1) < done)
      complain(format("{} did not start again after attempt {}", id.text(), used + 1));
  }
}

void Judge::generations_used(const End& end) {
  const auto starts = end.record.generations.size();
  if (starts > end.config.restarts.max + 1)
    complain(format("{} starts with --max-restarts {}", starts, end.config.restarts.max));
  const bool wrong_path =
      starts == 1 && (end.outcome.exit_status == 126 || end.outcome.exit_status == 127);
  if (end.undisturbed && end.outcome.failure && !end.config.timeout &&
      !end.config.continue_on_failure && !wrong_path && !ended_series(end) &&
      starts <= end.config.restarts.max)
    complain(format("failed for good after {} starts", starts));
}

void Judge::right_size(const End& end) {
  const auto& size = end.config.restarts.size;
  if (!size) return;
  for (const GenerationRecord& generation : end.record.generations) {
    if (generation.world_size < size->ranks_min ||
        (size->ranks_max > 0 && generation.world_size > size->ranks_max))
      complain(
          format("{} ranks of {} to {}", generation.world_size, size->ranks_min, size->ranks_max));
  }
  int slots = 0;
  for (const PlannedHost& host : end.plan.hosts)
    if (!host.tasks.empty()) slots += host.host.slots;
  if (end.plan.world_size != (size->ranks_max > 0 ? std::min(size->ranks_max, slots) : slots))
    complain(format("{} ranks on {} slots", end.plan.world_size, slots));
}

void Judge::one_generation(const std::vector<std::unique_ptr<SimulatedHost>>& hosts) {
  std::set<uint32_t> alive;
  for (const auto& host : hosts) {
    if (host->given_up() || host->is_cut()) continue;
    for (const SimulatedHost::Running& running : host->tasks())
      if (running.task && running.task->alive()) alive.insert(running.generation);
  }
  if (alive.size() > 1) complain(format("tasks of {} generations live", alive.size()));
}

void Judge::nothing_runs(const SimulatedHost& earlier) {
  for (const SimulatedHost::Running& running : earlier.tasks())
    if (running.task && running.task->alive())
      complain(format("{} still runs when its host gets tasks again", running.id.text()));
}

void Judge::all_accounted(const End& end) {
  for (size_t task = 0; task < end.plan.tasks.size(); ++task) {
    const auto agent = static_cast<size_t>(end.plan.tasks[task].agent);
    const size_t local = end.plan.tasks[task].local_index;
    const auto& tasks = end.hosts[agent]->tasks();
    const bool ran = local < tasks.size() && tasks[local].task->started();
    const bool known = end.record.tasks[task].exit || end.record.tasks[task].pid == 0;
    if (ran && !known && !host_lost(end, agent))
      complain(format("nobody knows how {} ended", end.plan.tasks[task].id.text()));
  }
}

void Judge::output_whole(const End& end) {
  if (end.moved) return;
  for (size_t task = 0; task < end.record.output.size(); ++task) {
    const auto agent = static_cast<size_t>(end.plan.tasks[task].agent);
    const size_t local = end.plan.tasks[task].local_index;
    if (host_lost(end, agent)) continue;
    const size_t wrote = end.hosts[agent]->tasks()[local].written();
    const OutputCount& count = end.record.output[task];
    if (count.stdout_bytes != wrote || count.lost_bytes != 0)
      complain(format("{} wrote {} bytes, and {} arrived", end.plan.tasks[task].id.text(), wrote,
                      count.stdout_bytes));
  }
}

void Judge::nothing_left(const std::vector<std::unique_ptr<SimulatedHost>>& hosts) {
  for (size_t host = 0; host < hosts.size(); ++host) {
    // A documented price of a pause: a host that was cut off meanwhile does not learn of its end.
    if (hosts[host]->is_cut() && hosts[host]->paused()) continue;
    if (hosts[host]->agent_alive()) complain(format("the agent of host {} is left", host));
    for (const SimulatedHost::Running& running : hosts[host]->tasks()) {
      if (running.task->alive()) complain(format("{} is left", running.id.text()));
    }
  }
}

}  // namespace dt

#include "launcher/job/supervisor.h"

#include "base/format.h"
#include "base/io/signals.h"
#include "base/text.h"
#include "launcher/report/report.h"
#include "launcher/report/task_list.h"

#include <algorithm>
#include <csignal>

namespace dt {

namespace {

/// How long the kernel may take to end processes after SIGKILL. Then they count as unkillable.
constexpr Duration kill_patience = seconds(5);

/// How long agents may take to finish after a stop. A console that blocks must not delay the end
/// for longer.
constexpr Duration agents_finish_patience = seconds(8);

/// How long further stop signals belong to the first one. A terminal that closes sends SIGHUP
/// twice. A wrapper may send TERM after a Ctrl-C that both processes received; systemd sends TERM,
/// then HUP.
constexpr Duration same_request = milliseconds(300);

/// After this time, a message names the ranks that a stop signal has not ended yet.
constexpr Duration quiet_stop = seconds(1);

/// How long tasks may take to write their stacks.
constexpr Duration dump_patience = seconds(2);

constexpr int status_host_lost = 3;
constexpr int status_start_timeout = 4;
constexpr int status_time_limit = 124;

Action signal_all(int number) {
  return {.kind = Action::Kind::signal, .signal = number, .notice = {}};
}

Action plain(Action::Kind kind) {
  return {.kind = kind, .signal = 0, .notice = {}};
}

Action warning(std::string text) {
  Action action = plain(Action::Kind::warn);
  action.text = std::move(text);
  return action;
}

/// Postpones a deadline, unless there is none.
void postpone(Time& when, Duration by) {
  if (when != Time::max()) when += by;
}

}  // namespace

Supervisor::Supervisor(Plan plan, Options options, Time now)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      rules_(success_rule(plan_, options_.success)),
      tasks_(plan_.tasks.size()),
      deciding_(std::ranges::count(rules_, true, &TaskRule::decides)),
      spares_(std::ranges::count(rules_, true, &TaskRule::spare) - options_.success.workers_min),
      lingering_(std::ranges::count(rules_, true, &TaskRule::lingers)),
      time_limit_(options_.timeout ? now + *options_.timeout : Time::max()),
      pauses_unanswered_(plan_.hosts.size()),
      agents_ended_(plan_.hosts.size()) {
  for (size_t task = 0; task < tasks_.size(); ++task) {
    const Role* const role = find_role(plan_.roles, plan_.tasks[task].id.role);
    if (role != nullptr) tasks_[task].restarts = role->restarts;
  }
}

Actions Supervisor::started(size_t task, int64_t pid, Time) {
  if (tasks_[task].life != Life::starting) return {};
  tasks_[task].life = Life::running;
  tasks_[task].pid = pid;
  if (tasks_[task].attempt == first_attempt) ++started_;
  if (started_ == tasks_.size()) options_.start_deadline = Time::max();
  return {};
}

Actions Supervisor::start_failed(size_t task, int status, std::string why, Time now) {
  if (tasks_[task].life == Life::ended) return {};
  Actions actions = {notify(Notice::Kind::dead, task, "could not be started: " + why)};
  if (!done_) fail_task(task, status, std::move(why));
  end_task(task, now, actions);
  decide_after_failure(now, actions);
  complete(now, actions);
  return actions;
}

Actions Supervisor::exited(size_t task, const ExitStatus& status, Time now,
                           const std::optional<TaskError>& error) {
  Actions actions;
  if (ended(task) || waits(task)) return actions;
  if (!status.good() && may_restart(task)) {
    restart_later(task, status, now, actions);
    return actions;
  }
  const bool excused = excuses(task);
  if (status.good()) {
    actions.push_back(notify(Notice::Kind::left, task, ""));
  } else {
    actions.push_back(notify(Notice::Kind::dead, task, status.text()));
    if (excused) {
      excuse_task(task, failure_cause(status), actions);
    } else if (!done_) {
      fail_task(task, status.shell_status(), cause_of(status), error);
    }
  }
  end_task(task, now, actions);
  if (!status.good() && !excused) decide_after_failure(now, actions);
  complete(now, actions);
  return actions;
}

Actions Supervisor::agent_lost(size_t agent, const std::string& why, Time now) {
  Actions actions;
  const PlannedHost& host = plan_.hosts[agent];
  std::string cause = format("agent on {} lost: {}", host.host.name, why);
  const bool had_restarts = std::ranges::any_of(
      host.tasks, [this](size_t task) { return !ended(task) && may_restart(task); });
  if (had_restarts) cause += " (tasks of a lost host are not restarted)";
  if (excuse_host(agent, cause, now, actions)) return actions;
  if (!done_ && !decided_ && phase_ != Phase::finishing) {
    decided_ = true;
    outcome_.exit_status = status_host_lost;
    outcome_.reason = cause;
  }
  bool needed_none = false;
  bool had_tasks = false;
  for (const size_t task : host.tasks) {
    if (tasks_[task].life == Life::ended) continue;
    had_tasks = true;
    actions.push_back(notify(Notice::Kind::dead, task, cause));
    if (!done_ && phase_ != Phase::finishing) ++outcome_.failed_tasks;
    needed_none = done_;
    tasks_[task].failed = true;
    end_task(task, now, actions);
  }
  if (needed_none) {
    actions.push_back(warning(cause + "; the job was done without it"));
  } else if (had_tasks && ends_on_request()) {
    actions.push_back(warning(cause));
  }
  agents_ended_[agent] = true;
  if (done_) {
    complete(now, actions);
  } else {
    stop(SIGTERM, now, actions);
  }
  suspend_if_all_paused(actions);
  return actions;
}

void Supervisor::output_lost(size_t agent, const std::string& why) {
  if (phase_ != Phase::finishing || outcome_.failure || outcome_.exit_status != 0) return;
  outcome_.exit_status = status_host_lost;
  outcome_.reason = format("agent on {} lost: {}; the end of its tasks' output may be missing",
                           plan_.hosts[agent].host.name, why);
}

bool Supervisor::ends_on_request() const {
  return decided_ && !outcome_.failure && !lost_host_decided();
}

bool Supervisor::lost_host_decided() const {
  return !outcome_.failure && outcome_.exit_status == status_host_lost;
}

Actions Supervisor::port_taken(std::string why, Time now) {
  Actions actions;
  if (!not_stopped() || done_ || decided_) return actions;
  decided_ = true;
  outcome_.exit_status = status_host_lost;
  outcome_.reason = std::move(why);
  stop(SIGTERM, now, actions);
  return actions;
}

Actions Supervisor::agent_finished(size_t agent, Time) {
  agents_ended_[agent] = true;
  Actions actions;
  suspend_if_all_paused(actions);
  return actions;
}

Actions Supervisor::pause_wanted(Time now) {
  if (paused_at_) return {};
  paused_at_ = now;
  for (int& unanswered : pauses_unanswered_)
    ++unanswered;
  Actions actions = {plain(Action::Kind::pause)};
  suspend_if_all_paused(actions);
  return actions;
}

Actions Supervisor::paused(size_t agent, Time) {
  // A late answer may belong to a pause that was cancelled: it must not count for the next one.
  if (pauses_unanswered_[agent] > 0) --pauses_unanswered_[agent];
  if (!paused_at_) return {};
  Actions actions;
  suspend_if_all_paused(actions);
  return actions;
}

Actions Supervisor::resumed(Time now) {
  Actions actions;
  end_pause(now, actions);
  return actions;
}

void Supervisor::suspend_if_all_paused(Actions& actions) {
  if (!paused_at_) return;
  for (size_t agent = 0; agent < plan_.hosts.size(); ++agent) {
    if (pauses_unanswered_[agent] > 0 && !agents_ended_[agent]) return;
  }
  actions.push_back(plain(Action::Kind::suspend));
}

void Supervisor::end_pause(Time now, Actions& actions) {
  if (!paused_at_) return;
  const Duration pause = now - *paused_at_;
  paused_at_.reset();
  for (Time* when :
       {&options_.start_deadline, &time_limit_, &phase_deadline_, &same_request_until_, &note_at_})
    postpone(*when, pause);
  for (TaskState& state : tasks_)
    postpone(state.restart_at, pause);
  actions.push_back(plain(Action::Kind::resume));
}

Actions Supervisor::interrupted(int number, Time now) {
  Actions actions;
  if (now < same_request_until_) return actions;
  end_pause(now, actions);
  const bool again = !not_stopped() && phase_ != Phase::dumping;
  same_request_until_ = now + same_request;
  if (!decided_) {
    decided_ = true;
    outcome_.exit_status = 128 + number;
  }
  if (outcome_.reason.empty()) outcome_.reason = interrupted_outcome(number).reason;
  if (phase_ == Phase::finishing) {
    actions.push_back(plain(Action::Kind::stop_waiting));
  } else if (again) {
    kill_all(now, actions);
  } else {
    stop_signal_ = number;
    stop_on_request(number, now, actions);
  }
  return actions;
}

/// The rest of the grace can be a long silence.
void Supervisor::note_waiting(Actions& actions) {
  note_at_ = Time::max();
  if (phase_ != Phase::stopping) return;
  Action note = plain(Action::Kind::note);
  note.text = format("interrupted; waiting up to {} for {}; {} ends them now",
                     duration_text(options_.grace), tasks_text(plan_, running()),
                     stop_signal_ == SIGINT ? "Ctrl-C again" : "a second signal");
  actions.push_back(std::move(note));
}

Actions Supervisor::reader_gone(Time now) {
  Actions actions;
  if (!not_stopped() || done_) return actions;
  if (!decided_) {
    decided_ = true;
    outcome_.exit_status = 128 + SIGPIPE;
    outcome_.reason = std::string(reader_gone_text);
  }
  stop(SIGTERM, now, actions);
  return actions;
}

Actions Supervisor::tick(Time now) {
  Actions actions;
  if (paused_at_) return actions;
  if (not_stopped() && now >= std::min(options_.start_deadline, time_limit_)) {
    const bool starting = now >= options_.start_deadline;
    if (!decided_) outcome_.exit_status = starting ? status_start_timeout : status_time_limit;
    decided_ = true;
    timed_out_ = !starting;
    outcome_.reason = starting
                          ? format("only {} of {} tasks had started after {}; see --start-timeout",
                                   started_, tasks_.size(), duration_text(options_.start_timeout))
                          : format("time limit of {} reached", duration_text(*options_.timeout));
    if (starting) {
      stop(SIGTERM, now, actions);
    } else {
      stop_on_request(SIGTERM, now, actions);
    }
  }
  if (phase_ == Phase::running) restart_due(now, actions);
  if (now >= note_at_) note_waiting(actions);
  if (now < phase_deadline_) return actions;
  if (phase_ == Phase::completing) {
    end_rest(now, actions);
  } else if (phase_ == Phase::dumping) {
    send_stop(after_dump_, now, actions);
  } else if (phase_ == Phase::stopping) {
    kill_all(now, actions);
  } else if (phase_ == Phase::killing) {
    // The agents report the processes that did not end.
    finish(actions, now);
  } else if (phase_ == Phase::finishing) {
    phase_deadline_ = Time::max();
    actions.push_back(plain(Action::Kind::stop_waiting));
  }
  return actions;
}

Time Supervisor::next_deadline() const {
  if (paused_at_) return Time::max();
  if (phase_ == Phase::stopping) return std::min(phase_deadline_, note_at_);
  if (!not_stopped()) return phase_deadline_;
  return std::min({options_.start_deadline, time_limit_, phase_deadline_, next_restart()});
}

std::vector<size_t> Supervisor::running() const {
  std::vector<size_t> all;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].life == Life::running) all.push_back(task);
  }
  return all;
}

/// The cause for the report. A task can be the cause although the launcher sent it TERM: others
/// ended before it, because of its error.
std::string Supervisor::cause_of(const ExitStatus& status) const {
  if (not_stopped() || status.shell_status() != 128 + SIGTERM) return failure_cause(status);
  return status.text() + " (sent by dtrain: other tasks ended first, because of this task's error)";
}

Failure Supervisor::failure_of(size_t task, std::string cause) const {
  const Task& failed = plan_.tasks[task];
  return {.task = failed.id,
          .rank = failed.rank,
          .host = plan_.hosts[static_cast<size_t>(failed.agent)].host.name,
          .pid = tasks_[task].pid,
          .cause = std::move(cause)};
}

void Supervisor::fail_task(size_t task, int status, std::string cause,
                           const std::optional<TaskError>& error) {
  ++outcome_.failed_tasks;
  tasks_[task].failed = true;
  // Peers of the task that raised an error may end before it: the oldest error is the cause.
  const bool sooner = outcome_.failure && outcome_.failure->error && error && error->when_ns > 0 &&
                      error->when_ns < outcome_.failure->error->when_ns;
  if (decided_ && (!sooner || failure_reported_)) return;
  if (!decided_) outcome_.exit_status = status;
  decided_ = true;
  failed_task_ = task;
  outcome_.failure = failure_of(task, std::move(cause));
  outcome_.failure->error = error;
}

bool Supervisor::neighbours_live(size_t server) const {
  // Indices may have holes: the servers are a ring in the order of their indices.
  std::vector<size_t> ring;
  for (size_t task = 0; task < rules_.size(); ++task)
    if (rules_[task].replicated) ring.push_back(task);
  std::ranges::sort(ring, {}, [this](size_t task) { return plan_.tasks[task].id.index; });
  const auto at = static_cast<size_t>(std::ranges::find(ring, server) - ring.begin());
  const size_t next = ring[(at + 1) % ring.size()];
  const size_t previous = ring[(at + ring.size() - 1) % ring.size()];
  return next != server && !tasks_[next].failed && !tasks_[previous].failed;
}

bool Supervisor::excuses(size_t task) const {
  if (rules_[task].excused) return true;
  if (rules_[task].replicated) return phase_ == Phase::running && neighbours_live(task);
  return rules_[task].spare && phase_ == Phase::running && spares_ > 0;
}

bool Supervisor::excuse_host(size_t agent, const std::string& cause, Time now, Actions& actions) {
  std::vector<size_t> live;
  for (const size_t task : plan_.hosts[agent].tasks) {
    if (tasks_[task].life != Life::ended) live.push_back(task);
  }
  const auto spare = std::ranges::count_if(live, [&](size_t task) { return rules_[task].spare; });
  const auto servers =
      std::ranges::count_if(live, [&](size_t task) { return rules_[task].replicated; });
  const bool all = std::ranges::all_of(live, [&](size_t task) { return excuses(task); });
  // Two servers of one host may have the only copies of a variable.
  if (spare + servers == 0 || spare > spares_ || servers > 1 || !all) return false;
  for (const size_t task : live) {
    actions.push_back(notify(Notice::Kind::dead, task, cause));
    excuse_task(task, cause, actions);
    end_task(task, now, actions);
  }
  agents_ended_[agent] = true;
  complete(now, actions);
  suspend_if_all_paused(actions);
  return true;
}

void Supervisor::excuse_task(size_t task, const std::string& cause, Actions& actions) {
  // The launcher has sent it a signal: its end is expected.
  if (phase_ != Phase::running) return;
  tasks_[task].failed = true;
  if (rules_[task].spare) --spares_;
  actions.push_back(
      warning(failure_text(failure_of(task, cause), {}) + "; the training goes on without it"));
}

void Supervisor::end_task(size_t task, Time now, Actions& actions) {
  TaskState& state = tasks_[task];
  if (state.life == Life::starting && state.attempt == first_attempt) ++started_;
  state.life = Life::ended;
  state.restart_at = Time::max();
  ++ended_;
  deciding_ -= rules_[task].decides ? 1 : 0;
  lingering_ -= rules_[task].lingers ? 1 : 0;
  if (ended_ < tasks_.size() || phase_ == Phase::finishing) return;
  finish(actions, now);
}

void Supervisor::finish(Actions& actions, Time now) {
  end_pause(now, actions);
  phase_ = Phase::finishing;
  // A job that ended by itself waits for a slow reader of its output without a limit.
  phase_deadline_ = outcome_.reason.empty() ? Time::max() : now + agents_finish_patience;
  actions.push_back(plain(Action::Kind::finish));
}

void Supervisor::decide_after_failure(Time now, Actions& actions) {
  if (phase_ == Phase::running && !options_.continue_on_failure) stop(SIGTERM, now, actions);
}

/// Called after a task ended: when the tasks that decide have, the job needs no other task.
void Supervisor::complete(Time now, Actions& actions) {
  const bool waits = options_.success.clean == CleanUp::none;
  if (phase_ == Phase::running && deciding_ == 0) {
    done_ = true;
    phase_ = Phase::completing;
    phase_deadline_ = waits ? Time::max() : now + options_.grace;
    // The other tasks have the grace to end. A time limit must not turn a success into a failure.
    if (!waits) options_.start_deadline = time_limit_ = Time::max();
    abandon_restarts(now, actions);
  }
  if (phase_ == Phase::completing && !waits && lingering_ == 0) end_rest(now, actions);
}

void Supervisor::end_rest(Time now, Actions& actions) {
  if (options_.success.clean == CleanUp::all) {
    finish(actions, now);
  } else {
    stop(SIGTERM, now, actions);
  }
}

void Supervisor::stop(int signal, Time now, Actions& actions) {
  if (not_stopped()) send_stop(signal, now, actions);
}

/// A signal or a time limit ends the job. With --dump-stacks the tasks write their stacks before.
/// A failure and a lost host name their cause themselves.
void Supervisor::stop_on_request(int signal, Time now, Actions& actions) {
  // A task that writes its stack on SIGQUIT would not end by it.
  if (options_.dump_stacks && signal == SIGQUIT) signal = SIGTERM;
  if (!options_.dump_stacks || phase_ == Phase::dumping) {
    send_stop(signal, now, actions);
    return;
  }
  end_pause(now, actions);
  phase_ = Phase::dumping;
  phase_deadline_ = now + dump_patience;
  after_dump_ = signal;
  actions.push_back(plain(Action::Kind::dump));
  abandon_restarts(now, actions);
}

void Supervisor::send_stop(int signal, Time now, Actions& actions) {
  end_pause(now, actions);
  phase_ = Phase::stopping;
  phase_deadline_ = now + options_.grace;
  if (stop_signal_ != 0 && options_.grace > quiet_stop) note_at_ = now + quiet_stop;
  actions.push_back(signal_all(signal));
  abandon_restarts(now, actions);
}

void Supervisor::kill_all(Time now, Actions& actions) {
  end_pause(now, actions);
  if (phase_ != Phase::killing) phase_deadline_ = now + kill_patience;
  phase_ = Phase::killing;
  actions.push_back(signal_all(SIGKILL));
}

}  // namespace dt

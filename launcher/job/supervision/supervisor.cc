#include "launcher/job/supervision/supervisor.h"

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

constexpr int status_start_timeout = 4;

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

/// The cause for the report. A task can be the cause although the launcher sent it TERM: others
/// ended before it, because of its error.
std::string cause_of(const ExitStatus& status, bool not_stopped) {
  if (not_stopped || status.shell_status() != 128 + SIGTERM) return failure_cause(status);
  return status.text() + " (sent by dtrain: other tasks ended first, because of this task's error)";
}

/// How long the kill waits for a task that writes a file, and how often it looks.
constexpr Duration write_patience = std::chrono::minutes(5);
constexpr Duration write_look = seconds(1);

Action writing_warning(const std::string& tasks) {
  return warning(format("{} still runs and writes a checkpoint; waiting up to {} for it", tasks,
                        duration_text(write_patience)));
}

/// The rest of the grace can be a long silence.
Action waiting_note(const std::string& tasks, Duration grace, int stop_signal) {
  Action note = plain(Action::Kind::note);
  note.text = format("interrupted; waiting up to {} for {}; {} ends them now", duration_text(grace),
                     tasks, stop_signal == SIGINT ? "Ctrl-C again" : "a second signal");
  return note;
}

bool may_start_again(const JobVerdict& verdict, const Supervisor::Options& options) {
  return verdict.can_restart() && options.may_restart && options.may_restart(verdict.outcome());
}

/// Postpones a deadline, unless there is none.
void postpone(Time& when, Duration by) {
  if (when != Time::max()) when += by;
}

}  // namespace

Supervisor::Supervisor(Plan plan, Options options, Time now)
    : plan_(std::move(plan)),
      options_(std::move(options)),
      lives_(plan_),
      needed_(plan_, options_.success),
      pause_(plan_.hosts.size()),
      time_limit_(options_.timeout ? now + *options_.timeout : Time::max()) {
}

Actions Supervisor::started(size_t task, int64_t pid, Time now) {
  if (!lives_.starting(task)) return {};
  lives_.start(task, pid, now);
  if (lives_.started() == lives_.size()) options_.start_deadline = Time::max();
  return {};
}

Actions Supervisor::start_failed(size_t task, int status, std::string why, Time now) {
  if (lives_.ended(task)) return {};
  Actions actions = {notify(Notice::Kind::dead, task, "could not be started: " + why)};
  if (!done_) fail_task(task, status, std::move(why));
  end_task(task, now, actions);
  complete(now, actions, true);
  return actions;
}

Actions Supervisor::exited(size_t task, const ExitStatus& status, Time now,
                           const std::optional<TaskError>& error) {
  Actions actions;
  if (lives_.ended(task) || lives_.waits(task)) return actions;
  if (phase_ == Phase::running && lives_.has_restart(task, status.good())) {
    restart_later(task, status, now, actions);
    return actions;
  }
  const bool excused = needed_.excuses(task, lives_, phase_ == Phase::running);
  if (status.good()) {
    actions.push_back(notify(Notice::Kind::left, task, ""));
  } else {
    actions.push_back(notify(Notice::Kind::dead, task, status.text()));
    if (excused) {
      excuse_task(task, status.shell_status(), failure_cause(status), error, actions);
    } else if (!done_) {
      fail_task(task, status.shell_status(), cause_of(status, not_stopped()), error);
    }
  }
  end_task(task, now, actions);
  complete(now, actions, !status.good() && !excused);
  return actions;
}

Actions Supervisor::agent_lost(size_t agent, const std::string& why, Time now) {
  Actions actions;
  const PlannedHost& host = plan_.hosts[agent];
  std::string cause = format("agent on {} lost: {}", host.host.name, why);
  if (host.tasks.empty()) {
    pause_.agent_ended(agent);
    return suspend_if_all_paused({warning(cause + "; the job goes on without this spare")});
  }
  const bool had_restarts =
      phase_ == Phase::running && std::ranges::any_of(host.tasks, [this](size_t task) {
        return !lives_.ended(task) && lives_.has_restart(task);
      });
  if (had_restarts && !options_.may_restart) cause += " (tasks of a lost host are not restarted)";
  if (excuse_host(agent, cause, now, actions)) return suspend_if_all_paused(std::move(actions));
  if (phase_ == Phase::running) verdict_.end_by_failure();
  if (!done_ && phase_ != Phase::finishing) verdict_.lose_host(cause);
  bool needed_none = false;
  const bool had_tasks =
      std::ranges::any_of(host.tasks, [this](size_t task) { return !lives_.ended(task); });
  if (had_tasks && !done_) verdict_.count_lost_host();
  for (const size_t task : host.tasks) {
    if (lives_.ended(task)) continue;
    actions.push_back(notify(Notice::Kind::dead, task, cause));
    if (!done_ && phase_ != Phase::finishing && !lives_.completed(task))
      verdict_.count_failed_task();
    needed_none = done_;
    if (!lives_.completed(task)) lives_.fail(task);
    end_task(task, now, actions);
  }
  const bool decides = outcome().reason == cause;
  if (needed_none) {
    actions.push_back(warning(cause + "; the job was done without it"));
  } else if (!decides && (verdict_.restarts() || (had_tasks && verdict_.on_request()) ||
                          may_start_again(verdict_, options_))) {
    actions.push_back(warning(cause));
  }
  pause_.agent_ended(agent);
  if (done_) {
    complete(now, actions);
  } else if (not_stopped()) {
    send_stop(SIGTERM, now, actions);
  }
  return suspend_if_all_paused(std::move(actions));
}

void Supervisor::output_lost(size_t agent, const std::string& why) {
  if (phase_ != Phase::finishing) return;
  verdict_.lose_output(format("agent on {} lost: {}; the end of its tasks' output may be missing",
                              plan_.hosts[agent].host.name, why));
}

Actions Supervisor::port_taken(std::string why, Time now) {
  Actions actions;
  if (!not_stopped() || done_ || verdict_.decided()) return actions;
  verdict_.forbid_restart();
  verdict_.lose_host(std::move(why));
  send_stop(SIGTERM, now, actions);
  return actions;
}

Actions Supervisor::agent_finished(size_t agent) {
  pause_.agent_ended(agent);
  return suspend_if_all_paused();
}

Actions Supervisor::pause_wanted(Time now) {
  if (!pause_.begin(now)) return {};
  return suspend_if_all_paused({plain(Action::Kind::pause)});
}

Actions Supervisor::paused(size_t agent) {
  pause_.answered(agent);
  return suspend_if_all_paused();
}

Actions Supervisor::resumed(Time now) {
  Actions actions;
  end_pause(now, actions);
  return actions;
}

Actions Supervisor::suspend_if_all_paused(Actions actions) const {
  if (pause_.complete()) actions.push_back(plain(Action::Kind::suspend));
  return actions;
}

void Supervisor::end_pause(Time now, Actions& actions) {
  const std::optional<Duration> pause = pause_.end(now);
  if (!pause) return;
  for (Time* when : {&options_.start_deadline, &time_limit_, &phase_deadline_, &write_deadline_,
                     &same_request_until_, &note_at_})
    postpone(*when, *pause);
  lives_.postpone(*pause);
  actions.push_back(plain(Action::Kind::resume));
}

Actions Supervisor::interrupted(int number, Time now) {
  Actions actions;
  if (now < same_request_until_) return actions;
  if (number == SIGTERM && from_scheduler_.has(number, now)) return actions;
  end_pause(now, actions);
  const bool again = !not_stopped() && phase_ != Phase::dumping;
  same_request_until_ = now + same_request;
  verdict_.interrupt(number, options_.success.by == SuccessBy::never);
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

/// The grace counts from the first report. No further one kills: the scheduler does that itself.
Actions Supervisor::agent_signalled(int number, Time now) {
  Actions actions;
  const bool known = from_scheduler_.has(number, now);
  // After a stop signal, reports of it must not hide a second one to dtrain.
  if (number != SIGTERM || stop_signal_ == 0) from_scheduler_.note(number, now);
  if (number != SIGTERM) return known ? actions : Actions{signal_all(number)};
  if (!not_stopped()) {
    verdict_.forbid_restart();
    return actions;
  }
  verdict_.end(128 + number, interrupted_outcome(number).reason);
  stop_signal_ = number;
  stop_on_request(number, now, actions);
  return actions;
}

Actions Supervisor::reader_gone(Time now) {
  Actions actions;
  if (!not_stopped() || done_) return actions;
  verdict_.decide(128 + SIGPIPE, std::string(reader_gone_text));
  send_stop(SIGTERM, now, actions);
  return actions;
}

Actions Supervisor::tick(Time now) {
  Actions actions;
  if (pause_.on()) return actions;
  if (not_stopped() && now >= options_.start_deadline) {
    verdict_.end(status_start_timeout,
                 format("only {} of {} tasks had started after {}; see --start-timeout",
                        lives_.started(), lives_.size(), duration_text(options_.start_timeout)));
    send_stop(SIGTERM, now, actions);
  } else if (not_stopped() && now >= time_limit_) {
    verdict_.time_out(time_limit_outcome(*options_.timeout).reason);
    stop_on_request(SIGTERM, now, actions);
  }
  if (phase_ == Phase::running) restart_due(now, actions);
  if (now >= note_at_) {
    note_at_ = Time::max();
    if (phase_ == Phase::stopping)
      actions.push_back(
          waiting_note(tasks_text(plan_, lives_.running()), options_.grace, stop_signal_));
  }
  if (now < phase_deadline_) return actions;
  if (phase_ == Phase::completing) {
    end_rest(now, actions);
  } else if (phase_ == Phase::dumping) {
    send_stop(after_dump_, now, actions);
  } else if (phase_ == Phase::stopping) {
    const bool writes = now < write_deadline_ && options_.writes_file && options_.writes_file();
    if (!writes) {
      kill_all(now, actions);
    } else {
      phase_deadline_ = std::min(now + write_look, write_deadline_);
      if (!std::exchange(write_noted_, true))
        actions.push_back(writing_warning(tasks_text(plan_, lives_.running())));
    }
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
  if (pause_.on()) return Time::max();
  if (phase_ == Phase::stopping) return std::min(phase_deadline_, note_at_);
  if (!not_stopped()) return phase_deadline_;
  return std::min({options_.start_deadline, time_limit_, phase_deadline_, lives_.next_restart()});
}

/// The task's failure is that of the job, which cannot succeed without it.
void Supervisor::fail_task(size_t task, int status, std::string cause,
                           const std::optional<TaskError>& error) {
  if (phase_ == Phase::running && !options_.continue_on_failure) verdict_.end_by_failure();
  lives_.fail(task);
  Failure failure = failure_of(task, std::move(cause));
  failure.error = error;
  verdict_.fail(task, status, std::move(failure));
}

Failure Supervisor::failure_of(size_t task, std::string cause) const {
  const Task& failed = plan_.tasks[task];
  return {.task = failed.id,
          .rank = failed.rank,
          .host = plan_.hosts[static_cast<size_t>(failed.agent)].host.name,
          .pid = lives_.pid(task),
          .cause = std::move(cause)};
}

bool Supervisor::excuse_host(size_t agent, const std::string& cause, Time now, Actions& actions) {
  std::vector<size_t> live;
  for (const size_t task : plan_.hosts[agent].tasks) {
    if (!lives_.ended(task)) live.push_back(task);
  }
  if (!needed_.excuses_host(live, lives_, phase_ == Phase::running)) return false;
  for (const size_t task : live) {
    actions.push_back(notify(Notice::Kind::dead, task, cause));
    excuse_task(task, status_host_lost, cause, {}, actions);
    end_task(task, now, actions);
  }
  pause_.agent_ended(agent);
  complete(now, actions);
  return true;
}

/// Training continues without the task. Rank 0 is missed all the same: in most programs it prints
/// the results and saves them. Its failure is that of the job, which does not end by it.
void Supervisor::excuse_task(size_t task, int status, const std::string& cause,
                             const std::optional<TaskError>& error, Actions& actions) {
  // The launcher has sent it a signal: its end is expected.
  if (phase_ != Phase::running) return;
  needed_.excuse(task);
  if (plan_.tasks[task].rank == 0) {
    lives_.fail(task);
    Failure failure = failure_of(task, cause);
    failure.error = error;
    verdict_.fail(task, status, std::move(failure));
    actions.push_back(
        warning(format("the training goes on without rank 0; the exit status will be {}", status)));
    return;
  }
  lives_.fail(task);
  verdict_.count_failed_task();
  actions.push_back(
      warning(failure_text(failure_of(task, cause), {}) + "; the training goes on without it"));
}

void Supervisor::end_task(size_t task, Time now, Actions& actions) {
  lives_.end(task);
  needed_.end(task);
  if (lives_.all_ended() && phase_ != Phase::finishing) finish(actions, now);
}

void Supervisor::finish(Actions& actions, Time now) {
  end_pause(now, actions);
  phase_ = Phase::finishing;
  if (may_start_again(verdict_, options_)) verdict_.restart();
  // A job that ended by itself waits for a slow reader of its output without a limit.
  const bool waits = outcome().reason.empty() || verdict_.restarts();
  phase_deadline_ = waits ? Time::max() : now + agents_finish_patience;
  actions.push_back(plain(Action::Kind::finish));
}

/// Called after a task ended. Its failure stops the job. When the tasks that decide have ended, the
/// job needs no other task.
void Supervisor::complete(Time now, Actions& actions, bool failed) {
  if (failed && phase_ == Phase::running && !options_.continue_on_failure)
    send_stop(SIGTERM, now, actions);
  const bool waits = options_.success.clean == CleanUp::none;
  if (phase_ == Phase::running && !needed_.undecided()) {
    done_ = true;
    phase_ = Phase::completing;
    phase_deadline_ = waits ? Time::max() : now + options_.grace;
    // The other tasks have the grace to end. A time limit must not turn a success into a failure.
    if (!waits) options_.start_deadline = time_limit_ = Time::max();
    abandon_restarts(now, actions);
  }
  if (phase_ == Phase::completing && !waits && !needed_.lingering()) end_rest(now, actions);
}

void Supervisor::end_rest(Time now, Actions& actions) {
  if (options_.success.clean == CleanUp::all) {
    finish(actions, now);
  } else {
    send_stop(SIGTERM, now, actions);
  }
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
  write_deadline_ = phase_deadline_ + write_patience;
  if (stop_signal_ != 0 && options_.grace > quiet_stop)
    note_at_ = std::max(now + quiet_stop, from_scheduler_.until(SIGTERM));
  actions.push_back(signal_all(signal));
  abandon_restarts(now, actions);
}

void Supervisor::kill_all(Time now, Actions& actions) {
  end_pause(now, actions);
  if (phase_ != Phase::killing) phase_deadline_ = now + kill_patience;
  phase_ = Phase::killing;
  actions.push_back(signal_all(SIGKILL));
}

Action Supervisor::notify(Notice::Kind kind, size_t task, std::string cause, bool returns) const {
  return {.kind = Action::Kind::notify,
          .notice = {.kind = kind,
                     .task = plan_.tasks[task].id,
                     .cause = std::move(cause),
                     .attempt = lives_.attempt(task),
                     .returns = returns}};
}

void Supervisor::restart_later(size_t task, const ExitStatus& status, Time now, Actions& actions) {
  const Failure ended = failure_of(task, failure_cause(status));
  const TaskLives::Restart restart = lives_.restart_later(task, status, now);
  actions.push_back(notify(Notice::Kind::dead, task, status.text(), true));
  const bool at_once = restart.delay == Duration::zero();
  Action report = plain(status.good() ? Action::Kind::note : Action::Kind::warn);
  report.text =
      format("{}; restart {}{}{}",
             status.good() ? process_text(ended) + " ended with status 0" : failure_text(ended, {}),
             restart.number, restart.of == restarts_unlimited ? "" : format(" of {}", restart.of),
             at_once ? "" : " in " + duration_text(restart.delay));
  actions.push_back(std::move(report));
}

void Supervisor::restart_due(Time now, Actions& actions) {
  for (const size_t task : lives_.take_due(now)) {
    // Before the start: the task could join at once.
    actions.push_back(notify(Notice::Kind::restarted, task, ""));
    Action start = plain(Action::Kind::start);
    start.task = task;
    start.attempt = lives_.attempt(task);
    actions.push_back(std::move(start));
  }
}

/// The job does not run any more: tasks that wait for their restart have ended.
void Supervisor::abandon_restarts(Time now, Actions& actions) {
  for (const size_t task : lives_.waiting()) {
    actions.push_back(notify(Notice::Kind::dead, task, lives_.cause(task)));
    if (!done_ && lives_.failed(task)) verdict_.count_failed_task();
    end_task(task, now, actions);
  }
}

}  // namespace dt

#include "base/format.h"
#include "base/text.h"
#include "launcher/job/supervisor.h"
#include "launcher/report/report.h"

#include <algorithm>
#include <utility>

namespace dt {

namespace {

/// Returns the wait before the n-th restart. It doubles from 1 s to 30 s, and the first has none.
Duration restart_delay(uint32_t restart) {
  constexpr Duration longest = seconds(30);
  constexpr uint32_t doublings_max = 5;
  if (restart <= 1) return Duration::zero();
  return std::min<Duration>(longest, seconds(1) * (1 << std::min(restart - 2, doublings_max)));
}

}  // namespace

Action Supervisor::notify(Notice::Kind kind, size_t task, std::string cause, bool returns) const {
  return {.kind = Action::Kind::notify,
          .notice = {.kind = kind,
                     .task = plan_.tasks[task].id,
                     .cause = std::move(cause),
                     .attempt = tasks_[task].attempt,
                     .returns = returns}};
}

bool Supervisor::may_restart(size_t task) const {
  const TaskState& state = tasks_[task];
  return phase_ == Phase::running &&
         state.attempt - first_attempt < static_cast<uint32_t>(state.restarts);
}

void Supervisor::restart_later(size_t task, const ExitStatus& status, Time now, Actions& actions) {
  TaskState& state = tasks_[task];
  const uint32_t restart = state.attempt - first_attempt + 1;
  const Duration delay = restart_delay(restart);
  state.life = Life::waiting;
  state.restart_at = now + delay;
  state.cause = status.text();
  actions.push_back(notify(Notice::Kind::dead, task, state.cause, true));
  const std::string failed = failure_text(failure_of(task, failure_cause(status)), {});
  const std::string later = delay > Duration::zero() ? " in " + duration_text(delay) : "";
  actions.push_back(
      {.kind = Action::Kind::warn,
       .notice = {},
       .text = format("{}; restart {} of {}{}", failed, restart, state.restarts, later)});
}

void Supervisor::restart_due(Time now, Actions& actions) {
  for (size_t task = 0; task < tasks_.size(); ++task) {
    TaskState& state = tasks_[task];
    if (state.life != Life::waiting || now < state.restart_at) continue;
    state.life = Life::starting;
    state.pid = 0;
    state.restart_at = Time::max();
    ++state.attempt;
    // Before the start: the task could join at once.
    actions.push_back(notify(Notice::Kind::restarted, task, ""));
    actions.push_back(
        {.kind = Action::Kind::start, .notice = {}, .task = task, .attempt = state.attempt});
  }
}

/// The job does not run any more: tasks that wait for their restart have failed.
void Supervisor::abandon_restarts(Time now, Actions& actions) {
  for (size_t task = 0; task < tasks_.size(); ++task) {
    TaskState& state = tasks_[task];
    if (state.life != Life::waiting) continue;
    actions.push_back(notify(Notice::Kind::dead, task, state.cause));
    state.failed = true;
    if (!done_) ++outcome_.failed_tasks;
    end_task(task, now, actions);
  }
}

Time Supervisor::next_restart() const {
  Time next = Time::max();
  for (const TaskState& state : tasks_)
    next = std::min(next, state.restart_at);
  return next;
}

}  // namespace dt

#include "launcher/job/supervision/task_lives.h"

#include "launcher/job/generations/restart_delay.h"

#include <algorithm>
#include <utility>

namespace dt {

TaskLives::TaskLives(const Plan& plan) : tasks_(plan.tasks.size()) {
  for (size_t task = 0; task < tasks_.size(); ++task) {
    const Role* const role = find_role(plan.roles, plan.tasks[task].id.role);
    if (role == nullptr) continue;
    tasks_[task].restarts = role->restarts;
    tasks_[task].always = role->restarts_always;
  }
}

std::vector<size_t> TaskLives::all_with(Life life) const {
  std::vector<size_t> all;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    if (tasks_[task].life == life) all.push_back(task);
  }
  return all;
}

std::vector<size_t> TaskLives::running() const {
  return all_with(Life::running);
}

std::vector<size_t> TaskLives::waiting() const {
  return all_with(Life::waiting);
}

void TaskLives::start(size_t task, int64_t pid, Time now) {
  Task& state = tasks_[task];
  state.life = Life::running;
  state.pid = pid;
  state.started = now;
  if (state.attempt == first_attempt) ++started_;
}

void TaskLives::end(size_t task) {
  Task& state = tasks_[task];
  if (state.life == Life::starting && state.attempt == first_attempt) ++started_;
  state.life = Life::ended;
  state.restart_at = Time::max();
  ++ended_;
}

bool TaskLives::has_restart(size_t task, bool good) const {
  const Task& state = tasks_[task];
  const bool left = state.attempt - first_attempt < static_cast<uint32_t>(state.restarts);
  return left && (!good || state.always);
}

TaskLives::Restart TaskLives::restart_later(size_t task, const ExitStatus& status, Time now) {
  Task& state = tasks_[task];
  state.in_a_row = now - state.started >= long_life ? 1 : state.in_a_row + 1;
  const Restart restart{.number = state.attempt - first_attempt + 1,
                        .of = state.restarts,
                        .delay = restart_delay(state.in_a_row)};
  state.life = Life::waiting;
  state.failed = !status.good();
  state.restart_at = now + restart.delay;
  state.cause = status.text();
  return restart;
}

std::vector<size_t> TaskLives::take_due(Time now) {
  std::vector<size_t> due = waiting();
  std::erase_if(due, [&](size_t task) { return now < tasks_[task].restart_at; });
  for (const size_t task : due) {
    Task& state = tasks_[task];
    state.life = Life::starting;
    state.failed = false;
    state.pid = 0;
    state.restart_at = Time::max();
    ++state.attempt;
  }
  return due;
}

Time TaskLives::next_restart() const {
  Time next = Time::max();
  for (const Task& state : tasks_)
    next = std::min(next, state.restart_at);
  return next;
}

void TaskLives::postpone(Duration by) {
  for (Task& state : tasks_)
    if (state.life == Life::waiting) state.restart_at += by;
}

}  // namespace dt

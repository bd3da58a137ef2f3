#include "launcher/plan/success_rule.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {

namespace {

bool is_chief(const Task& task) {
  return task.id.role == "chief" || task.id.role == "master";
}

bool has_rank(const Task& task) {
  return task.rank >= 0;
}

bool is_worker(const Task& task) {
  return has_rank(task) && task.id.role == "worker";
}

bool decides_by(const SuccessOptions& wanted, const Task& task) {
  switch (wanted.by) {
    case SuccessBy::chief:
      return is_chief(task);
    case SuccessBy::worker_0:
      return task.id == TaskId{"worker", 0};
    case SuccessBy::all_workers:
      return has_rank(task);
    case SuccessBy::role:
      return task.id.role == wanted.role;
    case SuccessBy::automatic:
    case SuccessBy::all:
    case SuccessBy::never:
      break;
  }
  return true;
}

/// Returns the role of the tasks that `wanted` names; empty if these have several roles.
std::string_view role_of(const SuccessOptions& wanted) {
  if (wanted.by == SuccessBy::worker_0) return "worker";
  return wanted.by == SuccessBy::role ? std::string_view(wanted.role) : std::string_view();
}

/// True when other launchers start all tasks that `wanted` names. This launcher does not learn how
/// those end.
bool decided_elsewhere(const Plan& plan, const SuccessOptions& wanted) {
  if (!plan.is_partial()) return false;
  const bool here = std::ranges::any_of(
      plan.tasks, [&wanted](const Task& task) { return decides_by(wanted, task); });
  if (here) return false;
  if (wanted.by == SuccessBy::all_workers) return plan.world_size > 0;
  return std::ranges::any_of(plan.roles, [&wanted](const Role& role) {
    const bool chief = role.name == "chief" || role.name == "master";
    return wanted.by == SuccessBy::chief ? chief : role.name == role_of(wanted);
  });
}

/// Resolves `wanted` for this plan: the result is never SuccessBy::automatic.
SuccessOptions resolved(const Plan& plan, SuccessOptions wanted) {
  if (decided_elsewhere(plan, wanted)) wanted.by = SuccessBy::all;
  if (wanted.by != SuccessBy::automatic) return wanted;
  const bool ranked = std::ranges::any_of(plan.tasks, has_rank);
  if (std::ranges::any_of(plan.tasks, is_chief)) {
    wanted.by = SuccessBy::chief;
  } else if (ranked && !plan.is_partial()) {
    wanted.by = SuccessBy::all_workers;
  } else {
    // For a partial plan, too: workers elsewhere may still need the tasks without rank here.
    wanted.by = SuccessBy::all;
  }
  return wanted;
}

std::string_view option_value(SuccessBy by) {
  switch (by) {
    case SuccessBy::chief:
      return "chief";
    case SuccessBy::worker_0:
      return "worker-0";
    case SuccessBy::all_workers:
      return "all-workers";
    case SuccessBy::all:
      return "all";
    case SuccessBy::never:
      return "never";
    case SuccessBy::role:
    case SuccessBy::automatic:
      break;
  }
  return "auto";
}

std::string roles_text(const Plan& plan) {
  std::vector<std::string> roles;
  for (const Task& task : plan.tasks) {
    if (std::ranges::find(roles, task.id.role) == roles.end()) roles.push_back(task.id.role);
  }
  for (const Role& role : plan.roles) {
    if (std::ranges::find(roles, role.name) == roles.end()) roles.push_back(role.name);
  }
  return join(roles, ", ");
}

/// Returns the value of --success.
std::string success_text(const SuccessOptions& rule) {
  return rule.by == SuccessBy::role ? "role:" + printable(rule.role)
                                    : std::string(option_value(rule.by));
}

}  // namespace

std::vector<TaskRule> success_rule(const Plan& plan, const SuccessOptions& wanted) {
  const SuccessOptions rule = resolved(plan, wanted);
  const auto decides = [&rule](const Task& task) { return decides_by(rule, task); };
  // With parameter servers, a worker may itself be a server that never returns.
  const bool served =
      std::ranges::any_of(plan.tasks, [](const Task& task) { return task.id.role == "ps"; });
  const bool peers_decide = std::ranges::any_of(
      plan.tasks, [&](const Task& task) { return decides(task) && has_rank(task); });
  std::vector<TaskRule> rules;
  for (const Task& task : plan.tasks) {
    TaskRule of_task = {.decides = decides(task)};
    of_task.excused = !of_task.decides && task.id.role == evaluator_role;
    of_task.replicated = wanted.servers_replicated && task.id.role == "ps" && !of_task.decides;
    of_task.spare = wanted.workers_min > 0 && is_worker(task);
    of_task.lingers = !of_task.decides && has_rank(task) && peers_decide && !served;
    rules.push_back(of_task);
  }
  return rules;
}

Result<> check_success(const SuccessOptions& wanted, const Plan& plan) {
  const auto workers = std::ranges::count_if(plan.tasks, is_worker);
  if (wanted.workers_min > workers) {
    return fail(Errc::input,
                format("--min-workers {}: the job has {} workers", wanted.workers_min, workers));
  }
  if (wanted.by == SuccessBy::never) return {};
  const SuccessOptions rule = resolved(plan, wanted);
  bool decided = false;
  for (const Task& task : plan.tasks) {
    if (!decides_by(rule, task)) continue;
    decided = true;
    const Role* const role = find_role(plan.roles, task.id.role);
    if (role == nullptr || !role->restarts_always) continue;
    return fail(Errc::input,
                format("{}: by --success {} the job ends when {} has ended, which then cannot "
                       "start again; use --restart-role {}=N for failures alone, or a --success "
                       "of other tasks",
                       restarts_text(*role), success_text(rule), task.id.text(), role->name));
  }
  if (decided) return {};
  return fail(Errc::input, format("--success {}: this job has no such task; its roles: {}",
                                  success_text(rule), roles_text(plan)));
}

}  // namespace dt

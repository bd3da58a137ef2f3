#include "launcher/agent/task_macros.h"

#include "base/format.h"
#include "launcher/config/words/macro_words.h"
#include "launcher/config/words/macros.h"

#include <cstddef>
#include <optional>

namespace dt {

namespace {

/// Requires Launch::macros.
MacroValues macro_values(const Launch& launch, const TaskLaunch& task) {
  return {.task = task.id,
          .rank = task.rank < 0 ? std::nullopt : std::optional(task.rank),
          .local_rank = task.local_rank,
          .job = *launch.macros,
          .cluster = launch.cluster};
}

}  // namespace

std::vector<std::string> command_of_task(std::vector<std::string> command, const Launch& launch,
                                         const TaskLaunch& task) {
  if (launch.macros) {
    const MacroValues values = macro_values(launch, task);
    const std::vector<std::string> written = command;
    for (size_t i = 0; i < command.size(); ++i) {
      if (takes_macros(written, i)) command[i] = expand_macros(written[i], values);
    }
  }
  if (launch.pass_local_rank && task.rank >= 0)
    command.push_back(format("--local_rank={}", task.local_rank));
  return command;
}

Environment forwarded_of_task(const Launch& launch, const TaskLaunch& task) {
  const auto of_role = launch.role_environments.find(task.id.role);
  Environment forwarded =
      of_role == launch.role_environments.end() ? launch.forwarded : of_role->second;
  if (!launch.macros) return forwarded;
  const auto names = launch.macros->variables.find(task.id.role);
  if (names == launch.macros->variables.end()) return forwarded;
  const MacroValues values = macro_values(launch, task);
  for (const std::string& name : names->second) {
    const auto found = forwarded.find(name);
    if (found != forwarded.end()) found->second = expand_macros(found->second, values);
  }
  return forwarded;
}

}  // namespace dt

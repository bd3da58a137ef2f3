#include "launcher/export/kubernetes/role_pod.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/export/kubernetes/task_pattern.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr const char* index_variable = "DTRAIN_TASK_INDEX";
constexpr const char* rank_variable = "DTRAIN_RANK";

/// The containers of one role, and the numbers by which they may differ.
struct RoleTasks {
  std::string role;
  std::vector<const Container*> containers = {};
  std::vector<TaskNumber> numbers = {};
};

RoleTasks tasks_of(const Containers& containers, const Role& role) {
  RoleTasks tasks = {.role = role.name};
  TaskNumber index = {.variable = index_variable, .numbers = {}};
  TaskNumber rank = {.variable = rank_variable, .numbers = {}};
  for (const Container& container : containers.all) {
    if (container.task.id.role != role.name) continue;
    tasks.containers.push_back(&container);
    index.numbers.push_back(static_cast<int>(container.task.id.index));
    rank.numbers.push_back(container.task.rank);
  }
  tasks.numbers = {std::move(index)};
  if (role.ranked) tasks.numbers.push_back(std::move(rank));
  return tasks;
}

Result<std::string> text_of_tasks(const RoleTasks& tasks,
                                  const std::vector<std::string_view>& texts,
                                  std::string_view what) {
  auto pattern = task_pattern(texts, tasks.numbers);
  if (pattern) return *std::move(pattern);
  return fail(Errc::input,
              format("role {}: {} differs between the tasks by more than a number, and all pods of "
                     "a role have one text; leave it out",
                     tasks.role, printable(what)));
}

Result<std::vector<std::string>> command_of_tasks(const RoleTasks& tasks) {
  std::vector<std::string> command;
  const size_t words = tasks.containers.front()->command.size();
  for (size_t at = 0; at < words; ++at) {
    std::vector<std::string_view> texts;
    for (const Container* const container : tasks.containers)
      texts.push_back(at < container->command.size() ? std::string_view(container->command[at])
                                                     : std::string_view());
    std::string word = TRY(text_of_tasks(tasks, texts, format("word {} of its command", at + 1)));
    command.push_back(std::move(word));
  }
  return command;
}

std::set<std::string> variable_names(const RoleTasks& tasks) {
  std::set<std::string> names;
  for (const Container* const container : tasks.containers)
    for (const auto& [name, value] : container->environment)
      if (value) names.insert(name);
  return names;
}

Result<PodVariable> variable_of_tasks(const RoleTasks& tasks, const std::string& name) {
  std::vector<std::string_view> texts;
  for (const Container* const container : tasks.containers) {
    const auto found = container->environment.find(name);
    const bool is_set = found != container->environment.end() && found->second;
    texts.push_back(is_set ? std::string_view(*found->second) : std::string_view());
  }
  const std::string text = TRY(text_of_tasks(tasks, texts, name));
  return variable_of_text(name, text);
}

}  // namespace

Result<Pod> role_pod(const Containers& containers, const Role& role, const TaskFields& fields) {
  const RoleTasks tasks = tasks_of(containers, role);
  Pod pod = {.image = tasks.containers.front()->image};
  pod.command = TRY(command_of_tasks(tasks));
  std::set<std::string> names = variable_names(tasks);
  // Kubernetes replaces only variables that stand before.
  const bool has_numbers = tasks.containers.size() > 1;
  if (has_numbers) pod.environment.push_back(variable_of_field(index_variable, fields.index));
  if (has_numbers && role.ranked)
    pod.environment.push_back(variable_of_field(rank_variable, fields.rank));
  for (const PodVariable& variable : pod.environment)
    names.erase(variable.name);
  for (const std::string& name : names) {
    PodVariable variable = TRY(variable_of_tasks(tasks, name));
    pod.environment.push_back(std::move(variable));
  }
  return pod;
}

}  // namespace dt

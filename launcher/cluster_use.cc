#include "launcher/cluster_use.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/macros.h"

#include <algorithm>
#include <map>
#include <set>

namespace dt {

namespace {

/// A text in which macros count, and where the user wrote it.
struct MacroText {
  std::string text;
  std::string origin;
};

/// The last setting of each name that gives a value: what -x takes over from the environment was
/// not written for us.
std::map<std::string, const EnvironmentSetting*> given_values(const RunConfig& config) {
  std::map<std::string, const EnvironmentSetting*> last;
  for (const EnvironmentSetting& setting : config.environment)
    last[setting.name] = &setting;
  std::erase_if(last, [](const auto& entry) { return !entry.second->value; });
  return last;
}

std::vector<MacroText> macro_texts(const RunConfig& config) {
  std::vector<MacroText> texts;
  if (config.no_macros) return texts;
  for (size_t i = 1; i < config.command.size(); ++i) {
    const std::string& word = config.command[i];
    texts.push_back({word, "the command's word " + shell_quote(printable(word, 60))});
  }
  for (const auto& [name, setting] : given_values(config))
    texts.push_back({*setting->value, format("{}: {}", setting->origin, printable(name))});
  return texts;
}

std::map<std::string, int> tasks_by_role(const Plan& plan) {
  std::map<std::string, int> tasks;
  for (const Task& task : plan.tasks)
    ++tasks[task.id.role];
  return tasks;
}

/// Its file is looked up on every host before any task is known there.
Result<> check_first_word(const RunConfig& config) {
  const std::string& word = config.command.front();
  if (config.no_macros || !macro_need(word).any) return {};
  return fail(Errc::input,
              format("the command {} has a macro in its first word, which names the file that all "
                     "hosts look for; use sh -c, or --no-macros if it is meant so",
                     shell_quote(printable(word, 60))));
}

Result<> check_filter(const RunConfig& config, const std::map<std::string, int>& tasks) {
  if (config.cluster_filter != ClusterFilter::ps || tasks.contains("ps")) return {};
  return fail(Errc::input,
              "--cluster-filter ps: the job has no ps, and its workers would not see each other");
}

/// A word or value that has become longer than execve takes it.
Result<> check_length(const MacroText& text, const MacroValues& values) {
  if (!macro_need(text.text).cluster) return {};
  // Names and ranks of other tasks may be some digits longer.
  constexpr size_t spare = 1024;
  const size_t bytes = expand_macros(text.text, values).size();
  if (bytes + spare <= variable_bytes_max) return {};
  return fail(Errc::input, format("{} becomes {} bytes long by its macros; a program can be given "
                                  "{} in one word (TF_CONFIG with --cluster-filter ps may do)",
                                  text.origin, bytes, variable_bytes_max - spare));
}

}  // namespace

Result<std::vector<std::string>> check_cluster_use(const RunConfig& config, const Plan& plan) {
  const std::map<std::string, int> tasks = tasks_by_role(plan);
  TRY(check_filter(config, tasks));
  TRY(check_first_word(config));
  const std::vector<MacroText> texts = macro_texts(config);
  std::set<std::string> roles;
  std::map<std::string, bool> ranked;
  for (const Task& task : plan.tasks) {
    roles.insert(task.id.role);
    ranked.emplace(task.id.role, task.rank >= 0);
  }
  std::vector<std::string> plain;
  for (const MacroText& text : texts) {
    plain.push_back(text.text);
    for (const auto& [role, has_rank] : ranked) {
      const auto good = check_macros(text.text, role, has_rank, roles);
      if (good) continue;
      return fail(Errc::input, format("{}: {} (--no-macros leaves braces as they are)", text.origin,
                                      good.error().message));
    }
  }
  const std::vector<std::string> misspelt = misspelt_macros(plain);
  if (misspelt.empty()) return std::vector<std::string>();
  return std::vector<std::string>{
      format("{}; it stays as it is (--no-macros turns this off)", join(misspelt, ", "))};
}

uint64_t macro_growth_max(const RunConfig& config, const Plan& plan) {
  const std::map<std::string, int> tasks = tasks_by_role(plan);
  uint64_t growth = 0;
  for (const MacroText& text : macro_texts(config)) {
    if (macro_need(text.text).any) growth += expanded_bytes_max(text.text, tasks);
  }
  return growth;
}

Result<> add_cluster_use(Launch& launch, const RunConfig& config, const Plan& plan,
                         const JobFacts& facts) {
  const std::vector<MacroText> texts = macro_texts(config);
  const auto has_macro = [](const MacroText& text) { return macro_need(text.text).any; };
  if (std::ranges::any_of(texts, has_macro)) {
    launch.macros = {.world_size = plan.world_size,
                     .master_address = facts.master_address,
                     .master_port = facts.master_port,
                     .job_id = facts.job};
    for (const auto& [name, setting] : given_values(config)) {
      if (macro_need(*setting->value).any) launch.macros->variables.push_back(name);
    }
    const Task& first = plan.tasks.front();
    const MacroValues values = {.task = first.id,
                                .rank = first.rank,
                                .local_rank = first.local_rank,
                                .job = *launch.macros,
                                .cluster = facts.cluster};
    for (const MacroText& text : texts)
      TRY(check_length(text, values));
  }
  launch.cluster_filter = config.cluster_filter;
  // Of many tasks TF_CONFIG is longer than a variable may be, and would be left out everywhere.
  launch.tf_config = facts.env_sets.contains(EnvSet::tf) &&
                     (config.cluster_filter != ClusterFilter::none ||
                      tf_cluster(facts.cluster).size() <= variable_bytes_max);
  const auto needs_cluster = [](const MacroText& text) { return macro_need(text.text).cluster; };
  if (launch.tf_config || std::ranges::any_of(texts, needs_cluster)) launch.cluster = facts.cluster;
  return {};
}

}  // namespace dt

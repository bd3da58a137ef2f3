#include "launcher/environment/cluster_variables.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/words/macro_words.h"
#include "launcher/config/words/macros.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace dt {

namespace {

/// A text with possible macros, for the tasks of one role, and where the user wrote it.
struct MacroText {
  const Role* role = nullptr;
  std::string text;
  std::string origin;
};

/// Returns the variables that the user set for the tasks of a role, by name; the last setting
/// counts. Macros are not expanded in values that -x copies from the environment: these were not
/// written for dtrain.
std::map<std::string, MacroText> user_values(const RunConfig& config, const Role& role) {
  std::map<std::string, MacroText> values;
  for (const EnvironmentSetting& setting : config.environment) {
    if (setting.value) {
      values[setting.name] = {&role, *setting.value,
                              format("{}: {}", setting.origin, printable(setting.name))};
    } else {
      values.erase(setting.name);
    }
  }
  for (const auto& [name, value] : role.environment)
    values[name] = {&role, value, format("--role-env: {}: {}", role.name, printable(name))};
  return values;
}

const std::vector<std::string>& command_of(const RunConfig& config, const Role& role) {
  return role.command.empty() ? config.command : role.command;
}

std::string word_origin(const std::string& word) {
  return "the command's word " + shell_quote(printable(word, 60));
}

std::vector<MacroText> macro_texts(const RunConfig& config, const Role& role) {
  std::vector<MacroText> texts;
  if (config.no_macros) return texts;
  const std::vector<std::string>& command = command_of(config, role);
  for (size_t i = 1; i < command.size(); ++i) {
    if (takes_macros(command, i)) texts.push_back({&role, command[i], word_origin(command[i])});
  }
  for (auto& [name, value] : user_values(config, role))
    texts.push_back(std::move(value));
  return texts;
}

/// Returns the texts of all roles that have tasks here.
std::vector<MacroText> macro_texts(const RunConfig& config, const Plan& plan) {
  std::vector<MacroText> all;
  for (const Role* role : plan.roles_here())
    std::ranges::move(macro_texts(config, *role), std::back_inserter(all));
  return all;
}

std::map<std::string, int> tasks_by_role(const Plan& plan) {
  std::map<std::string, int> tasks;
  for (const Role& role : plan.roles)
    tasks[role.name] = role.count;
  return tasks;
}

/// Addresses that dtrain finds are numeric; those in the user's cluster may be long names.
uint64_t address_bytes_max(const Plan& plan) {
  uint64_t most = sizeof "[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535";
  if (!plan.external_layout) return most;
  for (const auto& [role, tasks] : plan.external_layout->cluster.jobs) {
    for (const auto& [index, address] : tasks)
      most = std::max(most, uint64_t{address.size()});
  }
  return most;
}

/// Refuses macros in a command's first word: each host looks up its file before it knows any task.
Result<> check_first_word(const RunConfig& config, const Role& role) {
  const std::vector<std::string>& command = command_of(config, role);
  if (config.no_macros || command.empty() || !macro_need(command.front()).any) return {};
  return fail(Errc::input,
              format("the command {} has a macro in its first word, which names the file that all "
                     "hosts look for; use --role-command, or --no-macros if it is meant so",
                     shell_quote(printable(command.front(), 60))));
}

Result<> check_filter(const RunConfig& config, const std::map<std::string, int>& tasks) {
  if (config.cluster_filter != ClusterFilter::ps || tasks.contains("ps")) return {};
  return fail(Errc::input,
              "--cluster-filter ps: the job has no ps, and its workers would not see each other");
}

/// Refuses lists of addresses when an index is missing in the cluster: a list cannot express that.
Result<> check_lists(const MacroText& text, const Plan& plan) {
  if (!plan.external_layout || !macro_need(text.text).lists) return {};
  for (const auto& [role, tasks] : plan.external_layout->cluster.jobs) {
    if (tasks.empty() || tasks.rbegin()->first < static_cast<int>(tasks.size())) continue;
    return fail(Errc::input,
                format("{}: the cluster has not every {} up to {}:{}, which its list of addresses "
                       "would hide; TF_CONFIG tells it",
                       text.origin, role, role, tasks.rbegin()->first));
  }
  return {};
}

/// Refuses a text that the macros would lengthen beyond the limit of execve(2).
Result<> check_length(const MacroText& text, const JobMacros& job, const ClusterSpec& cluster) {
  if (!macro_need(text.text).cluster) return {};
  // Ranks of other tasks may be some digits longer.
  constexpr size_t spare = 1024;
  const MacroValues values = {
      .task = {text.role->name, 0}, .rank = 0, .local_rank = 0, .job = job, .cluster = cluster};
  const size_t bytes = expand_macros(text.text, values).size();
  if (bytes + spare <= variable_bytes_max) return {};
  return fail(Errc::input, format("{} becomes {} bytes long by its macros; a program can be given "
                                  "{} in one word (TF_CONFIG with --cluster-filter ps may do)",
                                  text.origin, bytes, variable_bytes_max - spare));
}

}  // namespace

Result<std::vector<std::string>> check_cluster_variables(const RunConfig& config,
                                                         const Plan& plan) {
  const std::map<std::string, int> tasks = tasks_by_role(plan);
  TRY(check_filter(config, tasks));
  std::set<std::string> roles;
  for (const Role& role : plan.roles)
    roles.insert(role.name);
  for (const Role* role : plan.roles_here())
    TRY(check_first_word(config, *role));
  std::vector<std::string> plain;
  for (const MacroText& text : macro_texts(config, plan)) {
    const auto good = check_macros(text.text, text.role->name, text.role->ranked, roles);
    if (!good) {
      return fail(Errc::input, format("{}: {} (--no-macros leaves braces as they are)", text.origin,
                                      good.error().message));
    }
    if (macro_need(text.text).code && !config.sync) {
      return fail(Errc::input,
                  format("{}: {{code_dir}} is the folder of --sync, which is not given "
                         "(--no-macros leaves braces as they are)",
                         text.origin));
    }
    TRY(check_lists(text, plan));
    plain.push_back(text.text);
  }
  const std::vector<std::string> misspelt = misspelt_macros(plain);
  if (misspelt.empty()) return std::vector<std::string>();
  return std::vector<std::string>{
      format("no such macros: {}; they stay as they are (--no-macros turns this off)",
             join(misspelt, ", "))};
}

uint64_t macro_growth_max(const RunConfig& config, const Plan& plan) {
  const std::map<std::string, int> tasks = tasks_by_role(plan);
  const uint64_t address_bytes = address_bytes_max(plan);
  uint64_t most = 0;
  for (const Role* role : plan.roles_here()) {
    uint64_t growth = 0;
    for (const MacroText& text : macro_texts(config, *role)) {
      if (macro_need(text.text).any) growth += expanded_bytes_max(text.text, tasks, address_bytes);
    }
    most = std::max(most, growth);
  }
  return most;
}

Result<> add_cluster_variables(Launch& launch, const RunConfig& config, const Plan& plan,
                               const JobFacts& facts) {
  const std::vector<MacroText> texts = macro_texts(config, plan);
  const auto has_macro = [](const MacroText& text) { return macro_need(text.text).any; };
  if (std::ranges::any_of(texts, has_macro)) {
    launch.macros = {.world_size = plan.world_size,
                     .master_address = facts.master_address,
                     .master_port = facts.master_port,
                     .job_id = facts.job};
    for (const Role& role : plan.roles) {
      for (const auto& [name, value] : user_values(config, role)) {
        if (has_macro(value)) launch.macros->variables[role.name].push_back(name);
      }
    }
    for (const MacroText& text : texts)
      TRY(check_length(text, *launch.macros, facts.cluster));
  }
  launch.cluster_filter = config.cluster_filter;
  // With many tasks TF_CONFIG exceeds the limit of a variable, and every agent would leave it out.
  launch.tf_config = facts.env_sets.contains(EnvSet::tf) &&
                     (config.cluster_filter != ClusterFilter::none ||
                      tf_cluster(facts.cluster).size() <= variable_bytes_max);
  if (launch.tf_config && config.external_cluster && !config.external_cluster->tf_config.empty()) {
    // It is for the one task of this plan, and has members that dtrain does not know.
    launch.tf_config = false;
    launch.common["TF_CONFIG"] =
        TRY(tf_config_seen(config.external_cluster->tf_config, config.cluster_filter));
  }
  const auto needs_cluster = [](const MacroText& text) { return macro_need(text.text).cluster; };
  if (launch.tf_config || std::ranges::any_of(texts, needs_cluster)) launch.cluster = facts.cluster;
  return {};
}

}  // namespace dt

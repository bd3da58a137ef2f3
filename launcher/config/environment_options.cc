#include "launcher/config/environment_options.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/env_file.h"
#include "launcher/config/env_set.h"
#include "launcher/config/horovod_settings.h"
#include "launcher/config/option_value.h"
#include "launcher/config/trust.h"

#include <algorithm>
#include <utility>

namespace dt {
namespace {

Result<> read_env_file(const OptionValue& given, const std::string& path,
                       const TextReader& read_text, std::vector<EnvironmentSetting>& settings) {
  const std::string text = TRY(given.text_of(path, read_text));
  for (EnvironmentSetting& setting : TRY(parse_env_file(text, path))) {
    TRY(check_found_variable(given, setting));
    settings.push_back(std::move(setting));
  }
  return {};
}

Result<> read_env_files(const OptionSources& sources, const TextReader& read_text,
                        std::vector<EnvironmentSetting>& settings) {
  for (const OptionValue& given : find_all(sources, "env-file")) {
    for (const std::string& path : *given.values)
      TRY(read_env_file(given, path, read_text, settings));
  }
  return {};
}

/// hydra's -genv, which has the name and the value as two words.
Result<> read_genv(const OptionSources& sources, std::vector<EnvironmentSetting>& settings) {
  const auto given = find_option(sources, "genv");
  if (!given) return {};
  for (size_t i = 0; i + 1 < given->values->size(); i += 2) {
    const std::string text = format("{}={}", (*given->values)[i], (*given->values)[i + 1]);
    EnvironmentSetting setting = TRY(parse_setting(text, given->origin));
    TRY(check_found_variable(*given, setting));
    settings.push_back(std::move(setting));
  }
  return {};
}

Result<> read_env(const OptionSources& sources, std::vector<EnvironmentSetting>& settings) {
  TRY(read_genv(sources, settings));
  const std::vector<OptionValue> all = find_all(sources, "env");
  std::vector<EnvironmentSetting> read;
  for (const OptionValue& given : all) {
    for (const std::string& text : *given.values) {
      EnvironmentSetting setting = TRY(parse_setting(text, given.origin));
      read.push_back(std::move(setting));
    }
  }
  auto setting = read.begin();
  for (const OptionValue& given : all) {
    for (size_t i = 0; i < given.values->size(); ++i, ++setting) {
      // A value that a nearer source replaces does not count, and need not be trusted.
      const bool replaced =
          std::ranges::count(setting + 1, read.end(), setting->name, &EnvironmentSetting::name) > 0;
      if (replaced) continue;
      TRY(check_found_variable(given, *setting));
      settings.push_back(*setting);
    }
  }
  return {};
}

/// Requires one scheduler, servers and workers. ps-lite's programs wait for all of these at first,
/// so the job would hang without them.
Result<> check_dmlc_roles(const OptionValue& given, const std::vector<Role>& roles) {
  const Role* scheduler = find_role(roles, "scheduler");
  if (scheduler != nullptr && scheduler->count > 1) {
    return given.refuse(
        format("dmlc: scheduler={}: its jobs have one; use scheduler=1", scheduler->count));
  }
  std::string missing;
  for (const std::string_view role : {"scheduler=1", "server=N", "worker=N"}) {
    if (find_role(roles, role.substr(0, role.find('='))) == nullptr) {
      missing += format(" --role {}", role);
    }
  }
  if (missing.empty()) return {};
  return given.refuse(
      format("dmlc: its jobs have a scheduler, servers and workers; add{}", missing));
}

}  // namespace

/// Reads the options for Horovod's library, then files, then -x: a later setting wins. Files and
/// settings of all sources count.
Result<> read_environment(const OptionSources& sources, const TextReader& read_text,
                          RunConfig& config) {
  config.environment = TRY(horovod_settings(sources));
  TRY(read_env_files(sources, read_text, config.environment));
  TRY(read_env(sources, config.environment));
  if (const auto given = find_option(sources, "env-exclude")) {
    for (const std::string& pattern : *given->values) {
      if (pattern.empty()) return given->expected("a pattern of names");
    }
    config.environment_excluded = *given->values;
  }
  return {};
}

Result<> read_env_sets(const OptionSources& sources, RunConfig& config) {
  if (!config.slurm_job.empty()) config.env_sets.insert(EnvSet::slurm_job);
  const auto given = find_option(sources, "env-set");
  if (!given) return {};
  const std::string all = join(*given->values, ",");
  std::vector<std::string_view> words;
  for (const std::string_view word : split(all, ','))
    words.push_back(trim(word));
  for (const std::string_view word : words) {
    if (!env_sets_named(word)) return given->unknown_word(word, env_set_names());
  }
  config.env_sets = chosen_env_sets(words, config.env_sets);
  if (config.env_sets.contains(EnvSet::dmlc)) return check_dmlc_roles(*given, config.roles);
  return {};
}

}  // namespace dt

#include "launcher/export/kubernetes/pod_command.h"

#include "base/format.h"
#include "launcher/config/words/macros.h"
#include "launcher/environment/variable_names.h"
#include "launcher/export/containers.h"
#include "launcher/export/kubernetes/literal_text.h"
#include "launcher/export/option_words.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace dt {
namespace {

template <size_t n>
bool is_one_of(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

/// Options that Kubernetes' objects have in their own form, or that count the nodes.
bool is_in_manifest(std::string_view name) {
  constexpr std::array<std::string_view, 25> names = {
      "np",           "nproc-per-node", "ppn",           "role",
      "role-command", "role-env",       "role-ranked",   "role-cpus",
      "role-memory",  "role-image",     "image",         "env",
      "env-file",     "chdir",          "sync",          "sync-from",
      "sync-to",      "sync-exclude",   "sync-include",  "sync-strict",
      "sync-max",     "mount",          "mount-command", "max-restarts",
      "name"};
  return is_node_option(name) || is_one_of(name, names);
}

/// Variables that stand in the command of dtrain: it replaces macros only there.
bool is_in_command(const std::string& value) {
  return macro_need(value).any;
}

/// Returns the words by which dtrain gives workers the user's variables that it would not take from
/// its own environment.
std::vector<std::string> variable_words(const ExportJob& job) {
  std::vector<std::string> words;
  for (const auto& [name, value] : user_variables(job.config, job.config.roles.front()).values) {
    const bool has_macros = !job.config.no_macros && is_in_command(value);
    const bool is_own =
        is_host_part(name) || is_outer_job(name) || fits_any(name, job.config.environment_excluded);
    if (!has_macros && !is_own) continue;
    words.emplace_back("-x");
    words.push_back(has_macros ? format("{}={}", name, value) : name);
  }
  return words;
}

/// Returns the words of the user's command for dtrain, as typed.
const std::vector<std::string>& typed_command(const ExportJob& job) {
  const std::vector<std::string>& own = job.config.roles.front().command;
  return own.empty() ? job.command : own;
}

}  // namespace

ExportPart part_in_pods(std::string_view option) {
  constexpr std::array<std::string_view, 17> of_this_machine = {
      "hosts",          "hostfile",  "allocation",   "ssh",
      "ssh-port",       "rsh-agent", "ssh-parallel", "ssh-identity-file",
      "ssh-config",     "srun-args", "config-file",  "dry-run",
      "json",           "no-image",  "sync-into",    "sync-local-copy",
      "connect-timeout"};
  constexpr std::array<std::string_view, 8> of_named_hosts = {
      "spare",     "host-discovery-script", "slots-per-host", "fetch", "fetch-to",
      "sync-user", "sync-token-env",        "sync-token-file"};
  if (is_one_of(option, of_named_hosts)) return ExportPart::left_out;
  return is_one_of(option, of_this_machine) ? ExportPart::moot : ExportPart::written;
}

ExportPart part_in_plain_pods(std::string_view option) {
  constexpr std::array<std::string_view, 3> of_objects = {"timeout", "max-restarts",
                                                          "nproc-per-node"};
  if (is_node_option(option) || is_one_of(option, of_objects)) return ExportPart::written;
  return option == "fetch" ? ExportPart::left_out : part_in_compose(option);
}

PodCommand dtrain_command(const ExportJob& job, const std::vector<std::string>& node_words) {
  std::vector<std::string> words = {"dtrain", "run"};
  words.insert(words.end(), node_words.begin(), node_words.end());
  for (const DecidedOption& one : job.options) {
    const std::string_view name = one.option->name;
    const bool is_passed = part_in_pods(name) == ExportPart::written && !is_in_manifest(name);
    if (is_passed && one.option->effect != Effect::prints)
      std::ranges::move(option_words(*one.option, one.values), std::back_inserter(words));
  }
  std::ranges::move(variable_words(job), std::back_inserter(words));
  words.emplace_back("--");
  return {.launcher = literal_texts(words), .arguments = literal_texts(typed_command(job))};
}

PodCommand other_command(const ExportJob& job, std::vector<std::string> launcher) {
  const std::vector<std::string>& own = job.config.roles.front().command;
  return {.launcher = std::move(launcher),
          .arguments = literal_texts(own.empty() ? job.config.command : own)};
}

std::vector<PodVariable> user_pod_variables(const ExportJob& job) {
  std::vector<PodVariable> variables;
  for (const auto& [name, value] : user_variables(job.config, job.config.roles.front()).values) {
    if (job.config.no_macros || !is_in_command(value))
      variables.push_back(variable_of_text(name, literal_text(value)));
  }
  return variables;
}

}  // namespace dt

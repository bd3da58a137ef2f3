#include "launcher/export/kubernetes/pod_command.h"

#include "base/format.h"
#include "launcher/config/words/macros.h"
#include "launcher/environment/variable_names.h"
#include "launcher/export/containers.h"
#include "launcher/export/option_words.h"

#include <algorithm>
#include <array>
#include <cstddef>
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
  constexpr std::array<std::string_view, 28> names = {
      "np",           "nproc-per-node", "ppn",        "role",       "role-command",  "role-env",
      "role-ranked",  "role-cpus",      "role-image", "image",      "env",           "env-file",
      "role-memory",  "chdir",          "sync",       "sync-from",  "sync-to",       "sync-exclude",
      "sync-include", "sync-strict",    "sync-max",   "mount",      "mount-command", "max-restarts",
      "name",         "module",         "no-python",  "reset-limit"};
  return is_node_option(name) || is_one_of(name, names);
}

/// How the launcher reaches the hosts of an MPIJob.
bool is_about_ssh(std::string_view name) {
  constexpr std::array<std::string_view, 7> names = {
      "ssh",          "ssh-port",        "ssh-identity-file", "ssh-config",
      "ssh-parallel", "connect-timeout", "rsh-agent"};
  return is_one_of(name, names);
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

/// Returns the command of the workers, with the place of the code for {code_dir}: dtrain in a pod
/// has no --sync, from which it would know that.
std::vector<std::string> worker_command(const ExportJob& job) {
  constexpr std::string_view macro = "{code_dir}";
  const std::vector<std::string>& own = job.config.roles.front().command;
  std::vector<std::string> words = own.empty() ? job.config.command : own;
  if (!job.code || job.config.no_macros) return words;
  const std::string target = code_target(job.config);
  for (std::string& word : words)
    for (size_t at = word.find(macro); at != std::string::npos;
         at = word.find(macro, at + target.size()))
      word.replace(at, macro.size(), target);
  return words;
}

/// True for an option that stands in the command of a pod.
bool is_passed(const DecidedOption& one, NodeReach reach) {
  const std::string_view name = one.option->name;
  if (one.option->effect == Effect::prints || is_in_manifest(name)) return false;
  return part_in_pods(name, reach) == ExportPart::written;
}

}  // namespace

ExportPart part_in_pods(std::string_view option, NodeReach reach) {
  constexpr std::array<std::string_view, 11> of_this_machine = {
      "hosts",   "hostfile", "allocation", "srun-args", "config-file",    "cluster-spec",
      "dry-run", "json",     "no-image",   "sync-into", "sync-local-copy"};
  constexpr std::array<std::string_view, 8> of_named_hosts = {
      "spare",     "host-discovery-script", "slots-per-host", "fetch", "fetch-to",
      "sync-user", "sync-token-env",        "sync-token-file"};
  // dtrain in pods starts no job again by itself.
  constexpr std::array<std::string_view, 5> of_restarts = {
      "restart-on", "elastic-timeout", "min-np", "max-np", "blacklist-cooldown-range"};
  if (is_one_of(option, of_named_hosts) || is_one_of(option, of_restarts))
    return ExportPart::left_out;
  // Nodes that start by themselves are set up before.
  if (reach == NodeReach::dialed && option.starts_with("setup")) return ExportPart::left_out;
  const bool is_moot =
      is_one_of(option, of_this_machine) || (reach != NodeReach::ssh && is_about_ssh(option));
  return is_moot ? ExportPart::moot : ExportPart::written;
}

ExportPart part_in_plain_pods(std::string_view option) {
  constexpr std::array<std::string_view, 3> of_objects = {"timeout", "max-restarts",
                                                          "nproc-per-node"};
  if (is_node_option(option) || is_one_of(option, of_objects)) return ExportPart::written;
  return option == "fetch" ? ExportPart::left_out : part_in_compose(option);
}

PodCommand dtrain_command(const ExportJob& job, const std::vector<std::string>& node_words,
                          NodeReach reach) {
  std::vector<std::string> words = {"dtrain", "run"};
  words.insert(words.end(), node_words.begin(), node_words.end());
  for (const DecidedOption& one : job.options)
    if (is_passed(one, reach))
      std::ranges::move(option_words(*one.option, one.values), std::back_inserter(words));
  std::ranges::move(variable_words(job), std::back_inserter(words));
  const std::vector<std::string> command = worker_command(job);
  // Options of torchrun would have a script started by python3; the job's own have done so here.
  if (command.front().ends_with(".py")) words.emplace_back("--no-python");
  words.emplace_back("--");
  return {.launcher = literal_texts(words), .arguments = literal_texts(command)};
}

PodCommand other_command(const ExportJob& job, std::vector<std::string> launcher) {
  return {.launcher = std::move(launcher), .arguments = literal_texts(worker_command(job))};
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

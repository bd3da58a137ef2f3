#include "launcher/environment/environment.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/environment/env_sets.h"
#include "launcher/environment/horovod_environment.h"
#include "launcher/environment/paddle_environment.h"
#include "launcher/environment/variable_names.h"
#include "launcher/process/line_buffer.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <array>
#include <set>

namespace dt {
namespace {

/// Returns all hosts to which tasks connect, for no_proxy: the most important first, and no more
/// than fit.
std::string peer_names(const JobFacts& job, const Plan& plan) {
  constexpr size_t bytes_max = variable_bytes_max / 2;
  std::set<std::string> known;
  std::string names;
  const auto add = [&](const std::string& name) {
    if (name.empty() || names.size() + name.size() >= bytes_max) return;
    if (known.insert(name).second) names += format("{}{}", names.empty() ? "" : ",", name);
  };
  add(split_address(job.rendezvous).host);
  add(job.master_address);
  for (const PlannedHost& planned : plan.hosts)
    add(planned.host.name);
  for (const auto& [role, addresses] : job.cluster.jobs) {
    for (const auto& [index, address] : addresses)
      add(split_address(address).host);
  }
  return names;
}

bool has_proxy(const Environment& environment) {
  constexpr std::string_view names[] = {"http_proxy", "https_proxy", "all_proxy", "grpc_proxy",
                                        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY"};
  return std::ranges::any_of(names, [&](std::string_view name) {
    const auto found = environment.find(std::string(name));
    return found != environment.end() && !found->second.empty();
  });
}

/// Appends names to both spellings: some programs read only one, and no_proxy hides NO_PROXY in
/// others. An unset spelling starts with the value of the other one.
void append_no_proxy(Environment& environment, const std::string& names) {
  constexpr std::array<const char*, 2> spellings = {"no_proxy", "NO_PROXY"};
  std::array<std::string, 2> before;
  for (size_t i = 0; i < spellings.size(); ++i) {
    const auto found = environment.find(spellings[i]);
    if (found != environment.end()) before[i] = found->second;
  }
  for (size_t i = 0; i < spellings.size(); ++i) {
    const std::string& base = before[i].empty() ? before[1 - i] : before[i];
    // A single * leaves out all hosts, but only as long as it stands alone.
    if (trim(base) == "*") {
      environment[spellings[i]] = base;
      continue;
    }
    const bool too_long = base.size() + names.size() + sizeof "no_proxy=," > variable_bytes_max;
    environment[spellings[i]] = base.empty() ? names
                                : too_long   ? base
                                             : format("{},{}", base, names);
  }
}

/// Returns the variables that apply only where the user set nothing.
Environment default_variables(const Environment& environment, const HostFacts& host,
                              const Environment& added, CpuShare share) {
  const int threads = std::max(1, share.cpus / std::max(1, share.tasks));
  Environment defaults = {{"PYTHONUNBUFFERED", "1"}, {"OMP_NUM_THREADS", format("{}", threads)}};
  add_horovod_interface(defaults, added, host.interface);
  if (needs_paddle_gloo(environment, added, host.accelerator)) {
    defaults["PADDLE_DISTRI_BACKEND"] = "gloo";
  }
  if (!host.interface.empty()) {
    // Without "=" NCCL would match every interface with this prefix.
    defaults["NCCL_SOCKET_IFNAME"] = "=" + host.interface;
    defaults["GLOO_SOCKET_IFNAME"] = host.interface;
    defaults["TP_SOCKET_IFNAME"] = host.interface;  // TensorPipe, of torch.distributed.rpc
  }
  for (const auto& [name, value] : added) {
    if (yields_to_user(name)) defaults.emplace(name, value);
  }
  return defaults;
}

constexpr const char* noted_defaults = "DTRAIN_DEFAULTS";

/// Adds the defaults, and lists them as "NAME=VALUE NAME=VALUE" in DTRAIN_DEFAULTS. A dtrain that
/// the worker starts would otherwise forward them like settings of its user. But this job's
/// interface and share of CPUs do not apply to that job.
void add_defaults(Environment& environment, const Environment& defaults) {
  std::vector<std::string> noted;
  for (const auto& [name, value] : defaults) {
    const bool is_set = environment.emplace(name, value).second;
    if (is_set && !is_outer_job(name)) noted.push_back(format("{}={}", name, value));
  }
  if (!noted.empty()) environment[noted_defaults] = join(noted, " ");
}

/// Returns the "NAME=VALUE" texts that an outer dtrain listed. A variable that has another value by
/// now does not match its text.
std::set<std::string_view> outer_defaults(const Environment& launcher) {
  const auto noted = launcher.find(noted_defaults);
  if (noted == launcher.end()) return {};
  const std::vector<std::string_view> texts = split_words(noted->second);
  return {texts.begin(), texts.end()};
}

}  // namespace

std::string own_gpu_numbers(const JobFacts& job) {
  std::vector<std::string> numbers;
  for (int number = 0; number < job.own_gpus; ++number)
    numbers.push_back(format("{}", number));
  return join(numbers, ",");
}

Environment forwarded_environment(const Environment& launcher,
                                  const std::vector<EnvironmentSetting>& settings,
                                  const std::vector<std::string>& excluded) {
  Environment forwarded;
  const std::set<std::string_view> defaults = outer_defaults(launcher);
  for (const auto& [name, value] : launcher) {
    if (is_host_part(name) || is_outer_job(name) || fits_any(name, excluded)) continue;
    if (!defaults.empty() && defaults.contains(format("{}={}", name, value))) continue;
    forwarded[name] = value;
  }
  remove_line_buffer(forwarded);
  for (const EnvironmentSetting& setting : settings) {
    if (setting.value) {
      forwarded[setting.name] = *setting.value;
      continue;
    }
    const auto found = launcher.find(setting.name);
    if (found != launcher.end()) forwarded[setting.name] = found->second;
  }
  return forwarded;
}

std::vector<std::string> unset_settings(const Environment& launcher,
                                        const std::vector<EnvironmentSetting>& settings) {
  std::vector<std::string> warnings;
  for (const EnvironmentSetting& setting : settings) {
    if (setting.value || launcher.contains(setting.name)) continue;
    warnings.push_back(
        format("{0}: {1} is not set in the environment, so no process gets it; write {1}=VALUE",
               setting.origin, printable(setting.name)));
  }
  return warnings;
}

std::vector<std::string> overridden_settings(const std::vector<EnvironmentSetting>& settings,
                                             const Environment& added) {
  std::vector<std::string> names;
  for (const EnvironmentSetting& setting : settings) {
    const auto ours = added.find(setting.name);
    const bool wins = ours != added.end() && setting.value && *setting.value != ours->second &&
                      setting.name != "no_proxy" && !yields_to_user(setting.name);
    if (wins && std::ranges::count(names, setting.name) == 0) names.push_back(setting.name);
  }
  return names;
}

Environment host_environment(Environment agent, const std::vector<std::string>& excluded) {
  std::erase_if(agent, [&](const auto& entry) {
    return !is_host_part(entry.first) || fits_any(entry.first, excluded);
  });
  return agent;
}

Environment common_environment(const JobFacts& job, const Plan& plan) {
  Environment common = {{"DTRAIN_JOB_ID", job.job},
                        {"DTRAIN_ATTEMPT", format("{}", first_attempt)},
                        {"no_proxy", peer_names(job, plan)}};
  if (!job.rendezvous.empty()) {
    common.insert({{"DTRAIN_RENDEZVOUS", job.rendezvous},
                   {"DTRAIN_TOKEN", job.token},
                   {"DTRAIN_GENERATION", format("{}", job.generation)}});
  }
  if (job.dump_stacks) common["DTRAIN_DUMP_STACKS"] = "1";
  common.insert(job.strategy.begin(), job.strategy.end());
  add_job_variables(common, job, plan);
  return common;
}

Environment task_environment(const JobFacts& job, const Plan& plan, const Task& task) {
  Environment environment = {
      {"DTRAIN_HOSTNAME", plan.hosts[static_cast<size_t>(task.agent)].host.name},
      {"DTRAIN_ROLE", task.id.role},
      {"DTRAIN_TASK_INDEX", format("{}", task.id.index)},
  };
  const std::string* address = job.own_ports ? job.cluster.address_of(task.id) : nullptr;
  if (address != nullptr) environment["DTRAIN_PORT"] = format("{}", port_of(*address));
  add_task_variables(environment, job, plan, task);
  return environment;
}

Environment attempt_environment(const EnvSets& sets, const TaskStarts& starts) {
  Environment changes = {{"DTRAIN_ATTEMPT", format("{}", starts.attempt)}};
  if (sets.contains(EnvSet::torch)) {
    const uint32_t earlier = starts.attempt - first_attempt + starts.generation - 1;
    changes["TORCHELASTIC_RESTART_COUNT"] = format("{}", earlier);
    changes["TORCHELASTIC_MAX_RESTARTS"] = format("{}", starts.restarts_max);
  }
  return changes;
}

Environment added_environment(const Environment& common, Environment task,
                              std::string_view tf_cluster, const TaskId& id) {
  Environment added = std::move(task);
  added.insert(common.begin(), common.end());
  add_horovod_rendezvous(added);
  if (tf_cluster.empty()) return added;
  std::string config = tf_config(tf_cluster, id);
  if (config.size() + sizeof "TF_CONFIG=" <= variable_bytes_max) {
    added["TF_CONFIG"] = std::move(config);
  }
  return added;
}

Environment worker_environment(Environment forwarded, const HostFacts& host,
                               const Environment& added, CpuShare share) {
  Environment environment = std::move(forwarded);
  environment.insert(host.own.begin(), host.own.end());
  environment.emplace("HOSTNAME", host.hostname);
  for (const auto& [name, value] : added) {
    if (name != "no_proxy" && !yields_to_user(name)) environment[name] = value;
  }
  const auto names = added.find("no_proxy");
  if (names != added.end() && has_proxy(environment)) append_no_proxy(environment, names->second);
  add_defaults(environment, default_variables(environment, host, added, share));
  return environment;
}

}  // namespace dt

#include "launcher/job/start/prepare.h"

#include "base/format.h"
#include "base/io/open_files.h"
#include "base/text.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/environment/slurm_environment.h"
#include "launcher/job/start/rendezvous.h"
#include "launcher/plan/role_ports.h"
#include "launcher/process/argument_space.h"
#include "rendezvous/cluster/tf_config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace dt {

namespace {

constexpr int ports_of_rank_0 = 2;  // MASTER_PORT and JAX's coordinator

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

std::string value_of(const Environment& environment, const std::string& name,
                     const std::string& otherwise) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? otherwise : at->second;
}

/// The most bytes that one role's own variables take.
uint64_t role_part_bytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Role& role : plan.roles)
    bytes = std::max(bytes, argument_bytes(role.environment));
  return bytes;
}

/// A role with a command or a PATH of its own gets an entry of its own.
void add_commands(Prepare& order, const std::vector<std::string>& of_job,
                  const std::vector<const Role*>& roles) {
  for (const Role* role : roles) {
    if (role->command.empty() && !role->environment.contains("PATH")) {
      order.command = of_job;
      continue;
    }
    order.role_commands.push_back({.role = role->name,
                                   .words = role->command.empty() ? of_job : role->command,
                                   .path = value_of(role->environment, "PATH", order.path)});
  }
}

/// The most bytes of TF_CONFIG: its ports are not known yet, unless the user gave a cluster.
uint64_t tf_config_bytes(const RunConfig& config, const Plan& plan) {
  if (config.external_cluster) {
    return std::max(config.external_cluster->tf_config.size(),
                    tf_cluster(config.external_cluster->cluster).size());
  }
  constexpr uint64_t address_bytes_max = 45;  // IPv6 with an IPv4 tail
  constexpr uint64_t address_extra = sizeof R"("[]:65535", )";
  return plan.tasks.size() * (address_bytes_max + address_extra);
}

/// The most bytes that the launcher adds for one task: ranks, names and the cluster in TF_CONFIG.
/// The addresses stand in no_proxy, NO_PROXY and Paddle's two lists, too. Three variables of Slurm
/// have a list, one of which DTRAIN_DEFAULTS repeats.
uint64_t task_part_bytes(const RunConfig& config, const Plan& plan) {
  constexpr uint64_t fixed = 8192;
  const uint64_t lists = config.env_sets.contains(EnvSet::paddle) ? 5 : 3;
  const uint64_t slurm = config.env_sets.contains(EnvSet::slurm_job) ? 4 * slurm_list_bytes_max : 0;
  return fixed + slurm +
         lists * std::min<uint64_t>(tf_config_bytes(config, plan), variable_bytes_max);
}

/// The addresses that the user gave the tasks of this plan.
std::vector<std::string> given_addresses(const Plan& plan) {
  std::vector<std::string> addresses;
  if (!plan.external_layout) return addresses;
  for (const Task& task : plan.tasks) {
    const std::string* address = plan.external_layout->cluster.address_of(task.id);
    if (address != nullptr) addresses.push_back(*address);
  }
  return addresses;
}

/// The rest is for the other steps of the start, so that a late command is reported with its
/// output.
Duration mount_patience(const RunConfig& config) {
  return config.start_timeout * 2 / 3;
}

/// True for a failure to hold a port that --role-ports gives: the user can give another one.
bool lacks_role_port(const Plan& plan, const Prepare& order, const std::string& failure) {
  if (plan.external_layout) return false;
  return std::ranges::any_of(order.addresses, [&failure](const std::string& address) {
    return failure.starts_with(printable(address) + ": ");
  });
}

/// True if the command names a file of this machine that lies in the folder.
bool lies_in(const std::string& command, const std::string& folder) {
  if (command.find('/') == std::string::npos) return false;
  const std::string beginning = folder + "/";
  if (command.starts_with('/') && !command.starts_with(beginning)) return false;
  const std::string file = command.starts_with('/') ? command : beginning + command;
  return ::access(file.c_str(), F_OK) == 0;
}

}  // namespace

std::string folder_of_tasks(const RunConfig& config) {
  if (config.chdir && config.chdir->starts_with('/')) return *config.chdir;
  const std::string current = current_folder(process_environment());
  return config.chdir ? current + "/" + *config.chdir : current;
}

std::string path_of_tasks(const Environment& forwarded, const Role& role) {
  return value_of(role.environment, "PATH", value_of(forwarded, "PATH", default_path));
}

Result<> check_launcher_files(const RunConfig& config, const Plan& plan) {
  // Each task that links libdtrain holds one connection. Some more exist during handshakes.
  constexpr uint64_t handshakes = 32;
  const uint64_t files_of_output = (config.output_dir ? 2 : 0) + (config.result_dir ? 1 : 0);
  return ensure_open_files(plan.tasks.size() * (1 + files_of_output) + handshakes,
                           format("{} tasks", plan.tasks.size()));
}

std::vector<Prepare> prepare_orders(const RunConfig& config, const Plan& plan,
                                    const Claim& generation, const Environment& forwarded,
                                    bool probe) {
  const std::string path = value_of(forwarded, "PATH", default_path);
  const uint64_t environment_bytes = argument_bytes(forwarded) + task_part_bytes(config, plan) +
                                     role_part_bytes(plan) + macro_growth_max(config, plan);
  std::vector<Prepare> orders;
  for (const PlannedHost& host : plan.hosts) {
    const std::vector<std::string> fixed = fixed_addresses(plan, host);
    const int chosen = host.task_count() - static_cast<int>(fixed.size());
    orders.push_back({.token = generation.token.text(),
                      .job = generation.job,
                      .generation = generation.generation,
                      .command = {},
                      .cwd = folder_of_tasks(config),
                      .home_instead = !config.chdir && !host.host.here,
                      .path = path,
                      .tasks = host.task_count(),
                      .ports = plan.external_layout ? 0 : chosen,
                      .addresses = plan.external_layout ? given_addresses(plan) : fixed,
                      .port_range = config.port_range,
                      .probe = probe,
                      .networks = config.networks,
                      .number = static_cast<uint32_t>(orders.size()),
                      .heartbeat = config.heartbeat,
                      .dead_after = host.host.here ? config.local_dead_after : config.dead_after,
                      .environment_bytes = environment_bytes,
                      .mounts = config.mounts,
                      .mount_patience = mount_patience(config)});
    // A spare can run all of them.
    add_commands(orders.back(), config.command,
                 host.tasks.empty() ? plan.roles_here() : plan.roles_on(host));
  }
  if (!plan.is_partial()) {
    orders[static_cast<size_t>(plan.tasks.front().agent)].ports += ports_of_rank_0;
  }
  return orders;
}

std::optional<Outcome> preparation_failure(const Plan& plan, const std::vector<Prepare>& orders,
                                           const std::vector<Prepared>& prepared) {
  std::map<std::string, std::vector<std::string>> hosts_by_cause;
  int status = 0;
  const auto blame = [&](size_t agent, const std::string& cause, int its_status) {
    hosts_by_cause[cause].push_back(plan.hosts[agent].host.name);
    if (status == 0) status = its_status;
  };
  for (size_t agent = 0; agent < prepared.size(); ++agent) {
    const Prepared& answer = prepared[agent];
    if (plan.hosts[agent].tasks.empty()) continue;
    if (!answer.failure.empty()) {
      const bool busy = lacks_role_port(plan, orders[agent], answer.failure);
      blame(agent, answer.failure, busy ? exit_status_of(Errc::input) : answer.status);
    } else if (answer.ports.size() != static_cast<size_t>(orders[agent].ports)) {
      blame(agent, "its agent did not hold the ports that were asked for", 3);
    }
  }
  if (hosts_by_cause.empty()) return std::nullopt;
  std::vector<std::string> lines;
  for (const auto& [cause, hosts] : hosts_by_cause)
    lines.push_back(join(hosts, ", ") + ": " + cause);
  return Outcome{.exit_status = status, .failure = {}, .reason = join(lines, "\n")};
}

std::string sync_advice(const Plan& plan, const std::vector<Prepare>& orders,
                        const std::vector<Prepared>& prepared) {
  const std::string missing = format(": {}", errno_text(ENOENT));
  for (size_t agent = 0; agent < prepared.size(); ++agent) {
    if (plan.hosts[agent].host.here || !prepared[agent].failure.ends_with(missing)) continue;
    std::vector<std::vector<std::string>> commands = {orders[agent].command};
    for (const RoleCommand& role : orders[agent].role_commands)
      commands.push_back(role.words);
    for (const std::vector<std::string>& words : commands) {
      if (words.empty() || !lies_in(words.front(), orders[agent].cwd)) continue;
      return format("\n{} is on this machine; --sync copies it to the hosts, with its folder",
                    shell_quote(printable(words.front())));
    }
  }
  return {};
}

std::vector<std::string> cwd_fallback_warnings(const Plan& plan, const std::vector<Prepare>& orders,
                                               const std::vector<Prepared>& prepared) {
  std::vector<std::string> hosts;
  for (size_t agent = 0; agent < prepared.size(); ++agent) {
    if (!prepared[agent].home.empty()) hosts.push_back(plan.hosts[agent].host.name);
  }
  if (hosts.empty()) return {};
  return {
      format("{} cannot be entered on {}; workers start in the home directory there (--sync "
             "copies its files; see also --chdir)",
             shell_quote(printable(orders.front().cwd, 300)), join(hosts, ", "))};
}

}  // namespace dt

#include "launcher/job/ports.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/environment/cluster_variables.h"
#include "launcher/process/argument_space.h"
#include "launcher/process/open_files.h"
#include "rendezvous/cluster/tf_config.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace dt {

namespace {

constexpr uint32_t first_generation = 1;
constexpr int ports_of_rank_0 = 2;  // MASTER_PORT and JAX's coordinator

std::string current_folder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

std::string absolute_folder(const std::string& folder) {
  return folder.starts_with('/') ? folder : current_folder() + "/" + folder;
}

constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

std::string value_of(const Environment& environment, const std::string& name,
                     const std::string& otherwise) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? otherwise : at->second;
}

/// What a role's own variables take at most.
uint64_t role_part_bytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Role& role : plan.roles)
    bytes = std::max(bytes, argument_bytes(role.environment));
  return bytes;
}

/// A role whose tasks look their program up in a PATH of their own says so, too.
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

/// TF_CONFIG before the ports in it are known, unless it was found.
uint64_t tf_config_bytes(const RunConfig& config, const Plan& plan) {
  if (config.external_cluster) {
    return std::max(config.external_cluster->tf_config.size(),
                    tf_cluster(config.external_cluster->cluster).size());
  }
  constexpr uint64_t address_bytes_max = 45;  // IPv6 with an IPv4 tail
  constexpr uint64_t address_extra = sizeof R"("[]:65535", )";
  return plan.tasks.size() * (address_bytes_max + address_extra);
}

/// What is added for a task at most: ranks and names, the cluster in TF_CONFIG, and its addresses
/// in no_proxy, NO_PROXY and Paddle's two lists.
uint64_t task_part_bytes(const RunConfig& config, const Plan& plan) {
  constexpr uint64_t fixed = 8192;
  const uint64_t lists = config.env_sets.contains(EnvSet::paddle) ? 5 : 3;
  return fixed + lists * std::min<uint64_t>(tf_config_bytes(config, plan), variable_bytes_max);
}

/// The addresses that tasks of this plan were given.
std::vector<std::string> given_addresses(const Plan& plan) {
  std::vector<std::string> addresses;
  if (!plan.external_layout) return addresses;
  for (const Task& task : plan.tasks) {
    const std::string* address = plan.external_layout->cluster.address_of(task.id);
    if (address != nullptr) addresses.push_back(*address);
  }
  return addresses;
}

/// What is told of the job where others start some of it: the cluster, and rank 0's place in it.
/// Our rendezvous knows our own tasks alone.
void tell_of_cluster(JobFacts& facts, const ExternalLayout& external_layout) {
  facts.cluster = external_layout.cluster;
  facts.rendezvous.clear();
  facts.master_address = split_address(external_layout.rank_0_address).host;
  facts.master_port = port_of(external_layout.rank_0_address);
  facts.jax_port = facts.master_port;
}

}  // namespace

TaskTable task_table(const Plan& plan, std::string job, const Reach& reach) {
  TaskTable table = {.job = std::move(job), .generation = first_generation, .tasks = {}};
  for (const Task& task : plan.tasks) {
    table.tasks.push_back({.id = task.id,
                           .rank = task.rank,
                           .agent = task.agent,
                           .host = plan.hosts[static_cast<size_t>(task.agent)].host.name,
                           .addresses = reach.hosts[static_cast<size_t>(task.agent)].ips,
                           .cut_off = reach.hosts[static_cast<size_t>(task.agent)].cut_off});
  }
  return table;
}

Result<std::optional<HeldPort>> hold_rendezvous_port(const RunConfig& config) {
  if (!config.port_range) return std::optional<HeldPort>();
  auto held = hold_ports(1, config.port_range);
  if (!held) return fail(Errc::refused, "rendezvous: " + held.error().message);
  return std::optional(std::move(held->front()));
}

std::optional<AddressSet> horovod_sources(const RunConfig& config, const Plan& plan,
                                          const Reach& reach, const std::vector<Hello>& hellos) {
  const bool wanted = !config.no_horovod && config.env_sets.contains(EnvSet::horovod);
  if (!wanted || plan.is_partial()) return std::nullopt;
  return task_sources(plan, reach, hellos);
}

Result<Rendezvous> listen_for(Runtime& stage, const RunConfig& config, const TaskTable& table,
                              const Token& token, ListenOptions place) {
  RendezvousServer::Options options = {.ip = place.ip,
                                       .port = place.port ? place.port->number : uint16_t{0},
                                       .token = token,
                                       .table = table,
                                       .dead_after = config.dead_after,
                                       .horovod_sources = place.horovod_sources};
  auto server = RendezvousServer::listen(stage.loop(), std::move(options), stage.log());
  if (!server) return fail(Errc::refused, "rendezvous: " + server.error().message);
  stage.log().info("{} tasks; rendezvous on {}", table.tasks.size(), (*server)->address().text());
  const RendezvousFacts facts = {.address = (*server)->address(),
                                 .token = token,
                                 .horovod = place.horovod_sources.has_value()};
  return Rendezvous{.server = *std::move(server), .place = std::move(place), .facts = facts};
}

Result<> check_launcher_files(const RunConfig& config, const Plan& plan) {
  // Tasks that link libdtrain connect, each once, and some more are under way while they do.
  constexpr uint64_t handshakes = 32;
  const uint64_t files_of_output = config.output_dir ? 2 : 0;
  return check_open_files(plan.tasks.size() * (1 + files_of_output) + handshakes,
                          format("{} tasks", plan.tasks.size()));
}

std::vector<Prepare> prepare_orders(const RunConfig& config, const Plan& plan,
                                    const std::string& job, const Token& token,
                                    const Environment& forwarded) {
  const bool probe = needs_probe(plan, config.networks);
  const std::string path = value_of(forwarded, "PATH", default_path);
  const uint64_t environment_bytes = argument_bytes(forwarded) + task_part_bytes(config, plan) +
                                     role_part_bytes(plan) + macro_growth_max(config, plan);
  std::vector<Prepare> orders;
  for (const PlannedHost& host : plan.hosts) {
    orders.push_back({.token = token.text(),
                      .job = job,
                      .generation = first_generation,
                      .command = {},
                      .cwd = config.chdir ? absolute_folder(*config.chdir) : current_folder(),
                      .home_instead = !config.chdir && !host.host.here,
                      .path = path,
                      .tasks = host.task_count(),
                      .ports = plan.external_layout ? 0 : host.task_count(),
                      .addresses = given_addresses(plan),
                      .port_range = config.port_range,
                      .probe = probe,
                      .networks = config.networks,
                      .number = static_cast<uint32_t>(orders.size()),
                      .heartbeat = config.heartbeat,
                      .dead_after = config.dead_after,
                      .environment_bytes = environment_bytes});
    add_commands(orders.back(), config.command, plan.roles_on(host));
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
    if (!answer.failure.empty()) {
      blame(agent, answer.failure, answer.status);
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

std::vector<std::string> cwd_fallback_warnings(const Plan& plan, const std::vector<Prepare>& orders,
                                               const std::vector<Prepared>& prepared) {
  std::vector<std::string> hosts;
  for (size_t agent = 0; agent < prepared.size(); ++agent) {
    if (!prepared[agent].home.empty()) hosts.push_back(plan.hosts[agent].host.name);
  }
  if (hosts.empty()) return {};
  return {
      format("{} cannot be entered on {}; workers start in the home directory there (see --chdir)",
             shell_quote(printable(orders.front().cwd, 300)), join(hosts, ", "))};
}

JobFacts job_facts(const RunConfig& config, const Plan& plan, const TaskTable& table,
                   const RendezvousFacts& rendezvous, const std::vector<Prepared>& prepared) {
  std::vector<std::vector<uint16_t>> ports;
  for (const Prepared& answer : prepared)
    ports.push_back(answer.ports);
  const auto take_port = [&ports](int agent) {
    std::vector<uint16_t>& left = ports[static_cast<size_t>(agent)];
    const uint16_t port = left.back();
    left.pop_back();
    return port;
  };
  JobFacts facts = {.job = table.job,
                    .generation = table.generation,
                    .token = rendezvous.token.text(),
                    .rendezvous = rendezvous.address.text(),
                    .master_address = table.tasks.front().addresses.front(),
                    .horovod = rendezvous.horovod,
                    .own_ports = config.port_range.has_value() && !plan.is_partial(),
                    .cluster = {},
                    .env_sets = config.env_sets,
                    .shape = job_shape_of(plan),
                    .own_gpu = config.placement.gpu_bind == GpuBind::rank};
  if (plan.is_partial()) {
    tell_of_cluster(facts, *plan.external_layout);
    return facts;
  }
  facts.master_port = take_port(plan.tasks.front().agent);
  facts.jax_port = take_port(plan.tasks.front().agent);
  if (plan.external_layout) {
    facts.cluster = plan.external_layout->cluster;
    return facts;
  }
  for (const TaskEntry& task : table.tasks) {
    facts.cluster.jobs[task.id.role][task.id.index] =
        host_port(task.addresses.front(), take_port(task.agent));
  }
  return facts;
}

}  // namespace dt

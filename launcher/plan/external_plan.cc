#include "launcher/plan/external_plan.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dt {

namespace {

bool is_this_machine(const std::string& name, const std::vector<std::string>& own) {
  return canonical_host(name).starts_with("127.") || is_local({.name = name}, own);
}

/// Returns the addresses of a role's tasks by index. An evaluator that the cluster does not list
/// counts as on this machine.
std::map<int, std::string> addresses_of(const Role& role, const ExternalCluster& given) {
  const auto job = given.cluster.jobs.find(role.name);
  if (job != given.cluster.jobs.end() && !job->second.empty()) return job->second;
  return {{given.task->index, "localhost"}};
}

/// Adds the hosts of the whole cluster to a plan, by the names in its addresses. All names of this
/// machine are one host.
class ClusterHosts {
 public:
  ClusterHosts(Plan& plan, const std::vector<std::string>& own) : plan_(plan), own_(own) {}

  int agent_at(const std::string& address) {
    const std::string name = split_address(address).host;
    const auto [known, is_new] = by_name_.emplace(name, 0);
    if (is_new) known->second = agent_of(name);
    return known->second;
  }

 private:
  int agent_of(const std::string& name) {
    const bool here = is_this_machine(name, own_);
    const int next = static_cast<int>(plan_.hosts.size());
    const auto [known, is_new] = by_host_.emplace(here ? "" : canonical_host(name), next);
    if (is_new) plan_.hosts.push_back({.host = {.name = name, .here = here}});
    return known->second;
  }

  Plan& plan_;
  const std::vector<std::string>& own_;
  std::map<std::string, int> by_name_;  ///< as written
  std::map<std::string, int> by_host_;  ///< by canonical name; "" is this machine
};

/// Makes a plan of all of the cluster, as if this launcher started all tasks.
Plan whole_plan(const ExternalCluster& given, const std::vector<Role>& roles,
                const std::vector<std::string>& own) {
  Plan plan;
  plan.roles = in_rank_order(roles);
  ClusterHosts hosts(plan, own);
  for (const Role& role : plan.roles) {
    for (const auto& [index, address] : addresses_of(role, given)) {
      const int agent = hosts.agent_at(address);
      plan.add({.id = {.role = role.name, .index = index},
                .rank = role.ranked ? plan.world_size++ : -1,
                .local_rank = role.ranked ? plan.hosts[static_cast<size_t>(agent)].ranked : -1,
                .agent = agent});
    }
  }
  number_across_hosts(plan);
  return plan;
}

/// "a, b, …": each name once, at most eight.
std::string first_of(const std::vector<std::string>& all) {
  constexpr size_t shown_max = 8;
  std::vector<std::string> names;
  for (const std::string& name : all) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  if (names.size() > shown_max) {
    names.resize(shown_max);
    names.emplace_back("…");
  }
  return join(names, ", ");
}

tl::unexpected<Error> no_task_here(const ExternalCluster& given, const Plan& whole,
                                   const std::vector<std::string>& own) {
  std::vector<std::string> hosts;
  for (const PlannedHost& host : whole.hosts)
    hosts.push_back(printable(host.host.name));
  return fail(Errc::input, format("{}: cluster: no task is on this machine, which is {};\n"
                                  "its tasks are on {}",
                                  given.origin, first_of(own), first_of(hosts)));
}

/// Fails when two tasks here have the same port, even if their addresses name the machine
/// differently.
Result<> check_ports(const ExternalCluster& given, const Plan& plan) {
  std::map<uint16_t, TaskId> users;
  for (const Task& task : plan.tasks) {
    const std::string* address = given.cluster.address_of(task.id);
    if (address == nullptr) continue;
    const uint16_t port = port_of(*address);
    const auto [user, is_new] = users.emplace(port, task.id);
    if (is_new) continue;
    return fail(Errc::input,
                format("{}: cluster: {}[{}]: port {} is also that of {}[{}], on the same machine",
                       given.origin, task.id.role, task.id.index, port, user->second.role,
                       user->second.index));
  }
  return {};
}

/// Returns the part of the plan with the tasks for which `starts` is true. Requires that these are
/// all on one host.
template <class Starts>
Plan part_of(const Plan& whole, const Starts& starts) {
  Plan part;
  part.roles = whole.roles;
  part.world_size = whole.world_size;
  JobShape shape = job_shape_of(whole);
  for (Task task : whole.tasks) {
    if (!starts(task)) continue;
    const auto agent = static_cast<size_t>(std::exchange(task.agent, 0));
    if (part.hosts.empty()) {
      part.hosts.push_back({.host = whole.hosts[agent].host});
      shape.node_of_host = {shape.node_of_host[agent]};
    }
    part.add(std::move(task));
    part.hosts.front().ranked = whole.hosts[agent].ranked;
  }
  part.external_layout = {.tasks_elsewhere = whole.tasks.size() - part.tasks.size(),
                          .shape = std::move(shape)};
  return part;
}

}  // namespace

Result<Plan> make_external_plan(const ExternalCluster& given, const std::vector<Role>& roles,
                                const std::vector<std::string>& own) {
  const Plan whole = whole_plan(given, roles, own);
  const auto starts = [&](const Task& task) {
    return given.task ? task.id == *given.task
                      : whole.hosts[static_cast<size_t>(task.agent)].host.here;
  };
  Plan plan = part_of(whole, starts);
  if (plan.tasks.empty()) return no_task_here(given, whole, own);
  TRY(check_ports(given, plan));
  Host& host = plan.hosts.front().host;
  host.here = true;
  host.slots = plan.hosts.front().task_count();
  plan.external_layout->cluster = given.cluster;
  const std::string* first = given.cluster.address_of(whole.tasks.front().id);
  if (plan.world_size > 0 && first != nullptr) plan.external_layout->rank_0_address = *first;
  return plan;
}

}  // namespace dt

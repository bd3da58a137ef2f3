#include "launcher/plan/plan.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/host_shares.h"
#include "launcher/plan/job_size_rules.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// Maximum number of tasks on a host.
int64_t limit_of(const Host& host) {
  return host.max_slots != 0 ? host.max_slots : processes_max;
}

int64_t total(const std::vector<HostCapacity>& capacities, int64_t (*what)(const HostCapacity&)) {
  return std::accumulate(
      capacities.begin(), capacities.end(), int64_t{0},
      [what](int64_t sum, const HostCapacity& capacity) { return sum + what(capacity); });
}

int64_t free_slots(const HostCapacity& capacity) {
  return capacity.free();
}

int64_t free_limit(const HostCapacity& capacity) {
  return std::max(capacity.limit - capacity.used, int64_t{0});
}

std::vector<HostCapacity> capacities_of(const std::vector<Host>& hosts) {
  std::vector<HostCapacity> capacities;
  for (const Host& host : hosts)
    capacities.push_back({.slots = host.slots, .limit = limit_of(host)});
  return capacities;
}

/// "a:4 b:4 and 3 more": at most eight hosts.
std::string hosts_text(const std::vector<Host>& hosts) {
  constexpr size_t shown_max = 8;
  std::vector<std::string> shown;
  for (const Host& host : hosts) {
    if (shown.size() == shown_max) {
      shown.push_back(format("and {} more", hosts.size() - shown_max));
      break;
    }
    shown.push_back(host.text());
  }
  return join(shown, " ");
}

/// "7 processes (chief=1, ps=2, worker=4)", or just "7 processes" if all are workers.
std::string asked_text(const std::vector<Role>& roles, int64_t count) {
  if (roles.size() == 1 && roles.front().name == "worker") return format("{} processes", count);
  return format("{} processes ({})", count, roles_text(roles));
}

Result<int> count_processes(const PlanRequest& request) {
  const std::vector<HostCapacity> capacities = capacities_of(request.hosts);
  const int64_t slots = total(capacities, free_slots);
  const int64_t allowed = total(capacities, free_limit);
  const int given = task_count(request.roles);
  const int64_t wanted = given != 0 ? int64_t{given} : slots;
  if (wanted < 1 || wanted > processes_max) {
    return fail(Errc::input, format("-np: expected 1..{}, got {}{}", processes_max, wanted,
                                    given != 0 ? "" : " (the sum of all slots)"));
  }
  const std::string asked = asked_text(request.roles, wanted);
  const auto fewer = [&request](int64_t most) {
    return request.roles.size() == 1 ? format("-np {}", most) : std::string("fewer");
  };
  if (wanted > slots && !request.oversubscribe) {
    return fail(Errc::input,
                format("asked for {} but {} {} ({}); use {} or --oversubscribe", asked,
                       request.allocation.empty() ? "hosts offer" : request.allocation + " offers",
                       slots, hosts_text(request.hosts), fewer(slots)));
  }
  if (wanted > allowed) {
    return fail(Errc::input,
                format("asked for {} but max_slots of the hosts ({}) allows {}; use {}", asked,
                       hosts_text(request.hosts), allowed, fewer(allowed)));
  }
  return static_cast<int>(wanted);
}

/// Returns the request with the count of the ranked role. Hosts above the most are idle.
Result<PlanRequest> with_size(PlanRequest request) {
  const JobSize size = *std::exchange(request.size, std::nullopt);
  const int others = unranked_count(request.roles);
  const SizeNeed need = needed_ranks(size, request.hosts, others, request.is_first);
  if (need.ranks == 0) {
    return fail(Errc::input, format("{} are there ({}); the job waits for the others",
                                    shortage_text(size, request.hosts, others, request.is_first),
                                    request.hosts.empty() ? "no host" : hosts_text(request.hosts)));
  }
  for (Role& role : request.roles)
    if (role.ranked) role.count = need.ranks;
  if (size.hosts_max == 0 || request.hosts.size() <= static_cast<size_t>(size.hosts_max))
    return request;
  const auto first_idle = request.hosts.begin() + size.hosts_max;
  if (request.keep_idle_hosts)
    request.spares.insert(request.spares.begin(), first_idle, request.hosts.end());
  request.hosts.erase(first_idle, request.hosts.end());
  return request;
}

/// Chooses a host for every task.
class TaskPlacer {
 public:
  explicit TaskPlacer(const PlanRequest& request)
      : request_(request), capacities_(capacities_of(request.hosts)) {
    for (size_t index = 0; index < request.hosts.size(); ++index)
      by_name_.emplace(request.hosts[index].name, index);
  }

  /// Returns for each role the hosts of its tasks, in their order. Roles with their own hosts are
  /// placed first, beginning with the fewest hosts. The other roles share the rest together.
  Result<std::vector<std::vector<size_t>>> place(const std::vector<Role>& roles);

 private:
  std::vector<size_t> take(const std::vector<size_t>& indices,
                           const std::vector<HostCapacity>& capacities, int count);
  Result<std::vector<size_t>> place_on_role_hosts(const Role& role);

  const PlanRequest& request_;
  std::vector<HostCapacity> capacities_;
  std::map<std::string_view, size_t> by_name_;  ///< indices of the hosts
};

/// Takes hosts for `count` tasks from `indices`, which have these capacities; counts them as used.
std::vector<size_t> TaskPlacer::take(const std::vector<size_t>& indices,
                                     const std::vector<HostCapacity>& capacities, int count) {
  const bool none_given = std::ranges::all_of(indices, [this](size_t index) {
    return !request_.slots_found.empty() && request_.slots_found[index];
  });
  const MapBy map_by = request_.map_by.value_or(none_given ? MapBy::node : MapBy::slot);
  const std::vector<int> shares = host_shares(capacities, count, map_by);
  std::vector<size_t> placed;
  for (const size_t index : assign_in_order(shares, count, request_.rank_by)) {
    placed.push_back(indices[index]);
    ++capacities_[indices[index]].used;
  }
  return placed;
}

Result<std::vector<size_t>> TaskPlacer::place_on_role_hosts(const Role& role) {
  std::vector<size_t> indices;
  std::vector<HostCapacity> capacities;
  for (const Host& wanted : role.hosts) {
    const auto found = by_name_.find(wanted.name);
    assert(found != by_name_.end() && request_.hosts[found->second].same_as(wanted));
    indices.push_back(found->second);
    HostCapacity capacity = capacities_[indices.back()];
    if (wanted.slots != 0) capacity.slots = std::min(capacity.slots, capacity.used + wanted.slots);
    if (wanted.max_slots != 0)
      capacity.limit = std::min(capacity.limit, capacity.used + wanted.max_slots);
    capacities.push_back(capacity);
  }
  const int64_t slots = total(capacities, free_slots);
  const int64_t offered = request_.oversubscribe ? total(capacities, free_limit) : slots;
  if (role.count > std::max(offered, slots)) {
    return fail(Errc::input, format("role {}: asked for {} processes but its hosts ({}) have room "
                                    "for {}; use fewer, or more hosts{}",
                                    role.name, role.count, hosts_text(role.hosts), offered,
                                    request_.oversubscribe ? "" : ", or --oversubscribe"));
  }
  return take(indices, capacities, role.count);
}

Result<std::vector<std::vector<size_t>>> TaskPlacer::place(const std::vector<Role>& roles) {
  std::vector<std::vector<size_t>> placed(roles.size());
  std::vector<size_t> order(roles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t role) { return roles[role].hosts.size(); });
  int free_count = 0;
  for (const size_t role : order) {
    if (roles[role].hosts.empty()) {
      free_count += roles[role].count;
    } else {
      placed[role] = TRY(place_on_role_hosts(roles[role]));
    }
  }
  if (free_count == 0) return placed;
  std::vector<size_t> indices(capacities_.size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  const std::vector<size_t> assigned = take(indices, capacities_, free_count);
  auto next = assigned.begin();
  for (size_t role = 0; role < roles.size(); ++role) {
    if (!roles[role].hosts.empty()) continue;
    placed[role].assign(next, next + roles[role].count);
    next += roles[role].count;
  }
  return placed;
}

/// Adds the hosts that have tasks, in the given order. Returns each host's agent; -1: it has none.
std::vector<int> add_hosts(Plan& plan, const std::vector<Host>& hosts,
                           const std::vector<std::vector<size_t>>& placed) {
  std::vector<int> agents(hosts.size(), -1);
  for (const std::vector<size_t>& of_role : placed) {
    for (const size_t host : of_role)
      agents[host] = 0;
  }
  for (size_t host = 0; host < hosts.size(); ++host) {
    if (agents[host] < 0) continue;
    agents[host] = static_cast<int>(plan.hosts.size());
    plan.hosts.push_back({.host = hosts[host]});
  }
  return agents;
}

}  // namespace

std::vector<Role> in_rank_order(std::vector<Role> roles) {
  const auto group = [](const Role& role) {
    if (!role.ranked) return 3;
    if (role.name == "chief" || role.name == "master") return 0;
    return role.name == "worker" ? 1 : 2;
  };
  std::ranges::stable_sort(roles, {}, group);
  return roles;
}

void number_across_hosts(Plan& plan) {
  const std::span ranked = std::span(plan.tasks).first(static_cast<size_t>(plan.world_size));
  std::vector<int> hosts_with(ranked.size());
  const auto hosts_of = [&](const Task& task) -> int& {
    return hosts_with[static_cast<size_t>(task.local_rank)];
  };
  for (Task& task : ranked)
    task.cross_rank = hosts_of(task)++;
  for (Task& task : ranked)
    task.cross_size = hosts_of(task);
}

void Plan::add(Task task) {
  PlannedHost& host = hosts[static_cast<size_t>(task.agent)];
  task.local_index = static_cast<uint32_t>(host.tasks.size());
  host.tasks.push_back(tasks.size());
  host.ranked += task.rank >= 0 ? 1 : 0;
  tasks.push_back(std::move(task));
}

std::vector<const Role*> Plan::roles_here() const {
  std::vector<const Role*> here;
  for (const Role& role : roles) {
    const bool has_task =
        std::ranges::any_of(tasks, [&role](const Task& task) { return task.id.role == role.name; });
    if (has_task) here.push_back(&role);
  }
  return here;
}

std::vector<const Role*> Plan::roles_on(const PlannedHost& host) const {
  std::vector<const Role*> there;
  for (const Role& role : roles) {
    const bool has_task = std::ranges::any_of(
        host.tasks, [&](size_t task) { return tasks[task].id.role == role.name; });
    if (has_task) there.push_back(&role);
  }
  return there;
}

std::vector<Host> hosts_of(const Plan& plan) {
  std::vector<Host> hosts;
  for (const PlannedHost& planned : plan.hosts)
    hosts.push_back(planned.host);
  return hosts;
}

size_t Plan::host_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(hosts, [](const PlannedHost& host) { return !host.tasks.empty(); }));
}

int Plan::rank_digits() const {
  int digits = 1;
  for (int highest = world_size - 1; highest >= 10; highest /= 10)
    ++digits;
  return digits;
}

Result<Plan> make_plan(const PlanRequest& request) {
  if (request.size) {
    const PlanRequest sized = TRY(with_size(request));
    return make_plan(sized);
  }
  assert(!request.hosts.empty());
  assert(std::ranges::all_of(request.hosts, [](const Host& host) { return host.slots > 0; }));
  const int count = TRY(count_processes(request));
  Plan plan;
  plan.roles = in_rank_order(request.roles);
  if (plan.roles.front().count == 0) plan.roles.front().count = count;
  const std::vector<std::vector<size_t>> placed = TRY(TaskPlacer(request).place(plan.roles));
  const std::vector<int> agents = add_hosts(plan, request.hosts, placed);
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const bool ranked = plan.roles[role].ranked;
    for (int index = 0; index < plan.roles[role].count; ++index) {
      const int agent = agents[placed[role][static_cast<size_t>(index)]];
      plan.add({.id = {.role = plan.roles[role].name, .index = index},
                .rank = ranked ? plan.world_size++ : -1,
                .local_rank = ranked ? plan.hosts[static_cast<size_t>(agent)].ranked : -1,
                .agent = agent});
    }
  }
  for (size_t host = 0; host < agents.size(); ++host)
    if (agents[host] < 0 && request.keep_idle_hosts)
      plan.hosts.push_back({.host = request.hosts[host]});
  for (const Host& spare : request.spares)
    plan.hosts.push_back({.host = spare});
  assert(plan.world_size > 0);
  number_across_hosts(plan);
  return plan;
}

}  // namespace dt

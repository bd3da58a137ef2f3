#include "launcher/plan/plan.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/plan/host_shares.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <span>
#include <string_view>

namespace dt {
namespace {

/// The most tasks that a host takes.
int64_t limit_of(const Host& host) {
  return host.max_slots != 0 ? host.max_slots : processes_max;
}

int64_t total(const std::vector<TaskRoom>& rooms, int64_t (*what)(const TaskRoom&)) {
  return std::accumulate(rooms.begin(), rooms.end(), int64_t{0},
                         [what](int64_t sum, const TaskRoom& room) { return sum + what(room); });
}

int64_t free_slots(const TaskRoom& room) {
  return room.free();
}

int64_t free_places(const TaskRoom& room) {
  return std::max(room.limit - room.used, int64_t{0});
}

std::vector<TaskRoom> rooms_of(const std::vector<Host>& hosts) {
  std::vector<TaskRoom> rooms;
  for (const Host& host : hosts)
    rooms.push_back({.slots = host.slots, .limit = limit_of(host)});
  return rooms;
}

/// "a:4 b:4", cut after a few.
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

/// "7 processes (chief=1, ps=2, worker=4)"; of workers alone the number says it.
std::string asked_text(const std::vector<Role>& roles, int64_t count) {
  if (roles.size() == 1 && roles.front().name == "worker") return format("{} processes", count);
  return format("{} processes ({})", count, roles_text(roles));
}

Result<int> count_processes(const PlanRequest& request) {
  const std::vector<TaskRoom> rooms = rooms_of(request.hosts);
  const int64_t slots = total(rooms, free_slots);
  const int64_t places = total(rooms, free_places);
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
                format("asked for {} but hosts offer {} ({}); use {} or --oversubscribe", asked,
                       slots, hosts_text(request.hosts), fewer(slots)));
  }
  if (wanted > places) {
    return fail(Errc::input,
                format("asked for {} but max_slots of the hosts ({}) allows {}; use {}", asked,
                       hosts_text(request.hosts), places, fewer(places)));
  }
  return static_cast<int>(wanted);
}

/// Finds a host for every task.
class Seating {
 public:
  explicit Seating(const PlanRequest& request)
      : request_(request), rooms_(rooms_of(request.hosts)) {
    for (size_t place = 0; place < request.hosts.size(); ++place)
      by_name_.emplace(request.hosts[place].name, place);
  }

  /// Of each role the hosts of its tasks, in their order. Roles that may run on some hosts only
  /// come first, those with the fewest before; the others are dealt together what is left.
  Result<std::vector<std::vector<size_t>>> seat(const std::vector<Role>& roles);

 private:
  std::vector<size_t> take(const std::vector<size_t>& places, const std::vector<TaskRoom>& rooms,
                           int count);
  Result<std::vector<size_t>> seat_on_its_hosts(const Role& role);

  const PlanRequest& request_;
  std::vector<TaskRoom> rooms_;
  std::map<std::string_view, size_t> by_name_;  ///< the places of the hosts
};

/// Hosts for `count` tasks out of these places, which offer these rooms.
std::vector<size_t> Seating::take(const std::vector<size_t>& places,
                                  const std::vector<TaskRoom>& rooms, int count) {
  const std::vector<int> shares = share_out(rooms, count, request_.map_by);
  std::vector<size_t> seats;
  for (const size_t place : deal(shares, count, request_.rank_by)) {
    seats.push_back(places[place]);
    ++rooms_[places[place]].used;
  }
  return seats;
}

Result<std::vector<size_t>> Seating::seat_on_its_hosts(const Role& role) {
  std::vector<size_t> places;
  std::vector<TaskRoom> rooms;
  for (const Host& wanted : role.hosts) {
    const auto found = by_name_.find(wanted.name);
    assert(found != by_name_.end() && request_.hosts[found->second].same_as(wanted));
    places.push_back(found->second);
    TaskRoom room = rooms_[places.back()];
    if (wanted.slots != 0) room.slots = std::min(room.slots, room.used + wanted.slots);
    if (wanted.max_slots != 0) room.limit = std::min(room.limit, room.used + wanted.max_slots);
    rooms.push_back(room);
  }
  const int64_t slots = total(rooms, free_slots);
  const int64_t offered = request_.oversubscribe ? total(rooms, free_places) : slots;
  if (role.count > std::max(offered, slots)) {
    return fail(Errc::input, format("role {}: asked for {} processes but its hosts ({}) have room "
                                    "for {}; use fewer, or more hosts{}",
                                    role.name, role.count, hosts_text(role.hosts), offered,
                                    request_.oversubscribe ? "" : ", or --oversubscribe"));
  }
  return take(places, rooms, role.count);
}

Result<std::vector<std::vector<size_t>>> Seating::seat(const std::vector<Role>& roles) {
  std::vector<std::vector<size_t>> seats(roles.size());
  std::vector<size_t> order(roles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t role) { return roles[role].hosts.size(); });
  int free_count = 0;
  for (const size_t role : order) {
    if (roles[role].hosts.empty()) {
      free_count += roles[role].count;
    } else {
      seats[role] = TRY(seat_on_its_hosts(roles[role]));
    }
  }
  if (free_count == 0) return seats;
  std::vector<size_t> places(rooms_.size());
  std::iota(places.begin(), places.end(), size_t{0});
  const std::vector<size_t> dealt = take(places, rooms_, free_count);
  auto next = dealt.begin();
  for (size_t role = 0; role < roles.size(); ++role) {
    if (!roles[role].hosts.empty()) continue;
    seats[role].assign(next, next + roles[role].count);
    next += roles[role].count;
  }
  return seats;
}

/// The hosts that have tasks, in the order given; of each of the others no agent.
std::vector<int> add_hosts(Plan& plan, const std::vector<Host>& hosts,
                           const std::vector<std::vector<size_t>>& seats) {
  std::vector<int> agents(hosts.size(), -1);
  for (const std::vector<size_t>& of_role : seats) {
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

int Plan::rank_digits() const {
  int digits = 1;
  for (int highest = world_size - 1; highest >= 10; highest /= 10)
    ++digits;
  return digits;
}

Result<Plan> make_plan(const PlanRequest& request) {
  assert(!request.hosts.empty());
  assert(std::ranges::all_of(request.hosts, [](const Host& host) { return host.slots > 0; }));
  const int count = TRY(count_processes(request));
  Plan plan;
  plan.roles = in_rank_order(request.roles);
  if (plan.roles.front().count == 0) plan.roles.front().count = count;
  const std::vector<std::vector<size_t>> seats = TRY(Seating(request).seat(plan.roles));
  const std::vector<int> agents = add_hosts(plan, request.hosts, seats);
  for (size_t role = 0; role < plan.roles.size(); ++role) {
    const bool ranked = plan.roles[role].ranked;
    for (int index = 0; index < plan.roles[role].count; ++index) {
      const int agent = agents[seats[role][static_cast<size_t>(index)]];
      plan.add({.id = {.role = plan.roles[role].name, .index = index},
                .rank = ranked ? plan.world_size++ : -1,
                .local_rank = ranked ? plan.hosts[static_cast<size_t>(agent)].ranked : -1,
                .agent = agent});
    }
  }
  assert(plan.world_size > 0);
  number_across_hosts(plan);
  return plan;
}

}  // namespace dt

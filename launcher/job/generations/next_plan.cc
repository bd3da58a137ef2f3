#include "launcher/job/generations/next_plan.h"

#include "base/format.h"
#include "launcher/plan/job_size_rules.h"
#include "launcher/plan/resolve_hosts.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

namespace dt {

namespace {

/// A spare that is not planned yet.
struct Spare {
  Host host;
  AgentState state = AgentState::connected;
};

}  // namespace

bool can_replace(const Host& host, const PlannedHost& place) {
  // An oversubscribed host had fewer slots than tasks.
  return host.slots == 0 || host.slots >= std::min(place.host.slots, place.task_count());
}

NextPlan next_plan(Plan last, std::vector<Host> lost, const std::vector<AgentState>& states) {
  NextPlan next = {.plan = std::move(last), .lost = std::move(lost)};
  std::vector<PlannedHost>& hosts = next.plan.hosts;
  const size_t places = next.plan.host_count();
  std::vector<Spare> spares;
  for (size_t agent = places; agent < hosts.size(); ++agent)
    spares.push_back({hosts[agent].host, states[agent]});
  hosts.resize(places);
  for (size_t place = 0; place < places; ++place) {
    if (states[place] == AgentState::connected) continue;
    const auto free = std::ranges::find_if(spares, [&](const Spare& spare) {
      return spare.state == AgentState::connected && can_replace(spare.host, hosts[place]);
    });
    if (free == spares.end()) {
      next.missing.push_back(place);
      continue;
    }
    const Spare replaced = {std::exchange(hosts[place].host, free->host), states[place]};
    next.taken.push_back(free->host.name);
    spares.erase(free);
    spares.push_back(replaced);
  }
  for (Spare& spare : spares) {
    if (spare.state == AgentState::lost) {
      next.lost.push_back(std::move(spare.host));
    } else {
      hosts.push_back({.host = std::move(spare.host)});
    }
  }
  return next;
}

namespace {

/// Sorts hosts, and the states of their agents with them.
void sort_hosts(std::vector<PlannedHost>& hosts, std::vector<AgentState>& states,
                const std::function<size_t(const Host&)>& order) {
  std::vector<std::pair<PlannedHost, AgentState>> both;
  for (size_t agent = 0; agent < hosts.size(); ++agent)
    both.emplace_back(std::move(hosts[agent]), states[agent]);
  std::ranges::stable_sort(both, {}, [&order](const auto& one) { return order(one.first.host); });
  for (size_t agent = 0; agent < hosts.size(); ++agent)
    std::tie(hosts[agent], states[agent]) = std::move(both[agent]);
}

}  // namespace

Result<NextPlan> sized_plan(Plan last, std::vector<Host> lost, std::vector<AgentState> states,
                            const SizedTerms& terms) {
  if (terms.order) sort_hosts(last.hosts, states, terms.order);
  const JobSize& size = *terms.config.restarts.size;
  NextPlan next = {.plan = {}, .lost = std::move(lost)};
  std::vector<Host> there;
  std::vector<Host> idle;
  for (size_t agent = 0; agent < states.size(); ++agent) {
    Host& host = last.hosts[agent].host;
    const bool is_usable =
        states[agent] == AgentState::connected && !(terms.is_out && terms.is_out(host));
    (states[agent] == AgentState::lost ? next.lost
     : is_usable                       ? there
                                       : idle)
        .push_back(std::move(host));
  }
  const SizeNeed need = needed_ranks(size, there, unranked_count(last.roles), terms.is_first);
  next.slots_missing = need.missing;
  next.is_full = (size.ranks_max > 0 && need.ranks >= size.ranks_max) ||
                 (size.hosts_max > 0 && there.size() >= static_cast<size_t>(size.hosts_max));
  if (need.ranks == 0) {
    next.plan.roles = std::move(last.roles);
    idle.insert(idle.begin(), there.begin(), there.end());
  } else {
    PlanRequest request = plan_request(terms.config, std::move(there), 0, std::move(last.roles));
    request.is_first = terms.is_first;
    request.keep_idle_hosts = true;
    next.plan = TRY(make_plan(request));
  }
  for (Host& host : idle)
    next.plan.hosts.push_back({.host = std::move(host)});
  return next;
}

std::vector<std::string> useless_spare_warnings(const Plan& plan, const std::vector<Host>& spares) {
  std::vector<std::string> warnings;
  for (const PlannedHost& planned : plan.hosts) {
    const Host& spare = planned.host;
    const bool is_given =
        std::ranges::any_of(spares, [&spare](const Host& given) { return given.same_as(spare); });
    const bool is_useful = std::ranges::any_of(plan.hosts, [&spare](const PlannedHost& place) {
      return !place.tasks.empty() && can_replace(spare, place);
    });
    if (!is_given || is_useful || spare.slots == 0) continue;
    warnings.push_back(
        format("--spare {}: it has fewer slots than each host of the job has "
               "processes, and can take no place",
               spare.text()));
  }
  return warnings;
}

}  // namespace dt

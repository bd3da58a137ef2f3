#include "launcher/job/generations/next_plan.h"

#include "base/format.h"

#include <algorithm>
#include <iterator>
#include <string>
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
  return host.slots >= std::min(place.host.slots, place.task_count());
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

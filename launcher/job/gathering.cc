#include "launcher/job/gathering.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/plan/job_plan.h"
#include "launcher/plan/job_size_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dt {

namespace {

/// The pause between two tries of a lost host, and between two readings of the hosts.
constexpr Duration retry_pause = seconds(1);
/// The same in a long wait: sshd may lock out a client that logs in too often.
constexpr Duration late_retry_pause = seconds(5);
/// How long hosts that were lost long ago, or are new, may take to connect, while others wait.
constexpr Duration newcomer_patience = seconds(5);
/// Hosts may be lost again and again while a restart gathers and prepares them.
constexpr int tries_max = 5;

std::string ranks_text(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlannedHost& planned : plan.hosts)
    if (!planned.tasks.empty()) names.push_back(planned.host.name);
  return format("{} rank{} on {}", plan.world_size, plan.world_size == 1 ? "" : "s",
                compress_names(names));
}

bool has_host(const std::vector<Host>& hosts, const Host& wanted) {
  return std::ranges::any_of(hosts, [&](const Host& host) { return host.same_as(wanted); });
}

/// True for one machine and user under two names.
bool is_same_machine(const Host& one, const Host& other) {
  if (one.here && other.here) return true;
  return one.user == other.user && canonical_host(one.name) == canonical_host(other.name);
}

}  // namespace

Gathering::Gathering(const GatheringParts& parts, Plan& plan, HostHistory& history, Time time_limit)
    : parts_(parts),
      plan_(plan),
      history_(history),
      time_limit_(time_limit),
      is_first_(plan.tasks.empty()),
      first_began_(parts.loop.now()),
      began_(first_began_),
      reading_(parts.loop, parts.log, parts.read_hosts) {
  const std::vector<AgentState> states = parts.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const PlannedHost& planned = plan.hosts[agent];
    Known& host = known(planned.host.name);
    host.last = !planned.tasks.empty();
    host.tried = is_first_;
    // The end of the generation has reported it.
    if (states[agent] != AgentState::lost) continue;
    host.why = parts.agents.why_lost(agent);
    history.lost_since.try_emplace(planned.host.name, first_began_);
  }
}

Gathering::Known& Gathering::known(const std::string& name) {
  return known_.try_emplace(name, Known{.order = known_.size()}).first->second;
}

const Gathering::Known* Gathering::find_known(const std::string& name) const {
  const auto at = known_.find(name);
  return at == known_.end() ? nullptr : &at->second;
}

/// True for a host of the last generation that is worth a wait.
bool Gathering::was_last(const Host& host) const {
  const Known* const its = find_known(host.name);
  return its != nullptr && its->last && !its->gave_way && !is_out(host);
}

Result<> Gathering::wait(Time until, const std::function<bool()>& is_over) {
  until = std::min(until, time_limit_);
  while (!parts_.interrupted() && !is_over() && parts_.loop.now() < until)
    TRY(parts_.loop.run_once(until));
  if (parts_.interrupted()) return fail(Errc::interrupted, "interrupted");
  if (parts_.loop.now() >= time_limit_)
    return fail(Errc::timeout, "the time limit of the job is reached");
  return {};
}

std::string Gathering::failures_text() const {
  std::string text;
  for (const auto& [name, its] : known_) {
    if (!its.why.empty()) text += format("\n{}: {}", name, its.why);
    if (is_out({.name = name})) text += format("\n{}: kept out (--blacklist-cooldown-range)", name);
  }
  return text;
}

// The source of the hosts.

void Gathering::use_named(std::vector<Host> named) {
  // A host keeps the name by which the job knows it.
  for (Host& host : named) {
    if (const Host* const its = find_host(host)) host.name = its->name;
  }
  history_.named = named;
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const Host& host = plan_.hosts[agent].host;
    if (may_use(host) || states[agent] == AgentState::lost) continue;
    parts_.log.print("{} is not named any more, and is not used", host.name);
    leave_out(agent, "is not named any more");
  }
  std::erase_if(history_.lost, [this](const Host& host) { return !may_use(host); });
  for (const Host& host : named) {
    if (Host* const its = find_host(host)) {
      // The places of a job with a fixed size keep their slots.
      if (is_sized() && host.slots > 0) its->slots = host.slots;
    } else {
      history_.lost.push_back(host);
    }
  }
}

/// The agent ends.
void Gathering::leave_out(size_t agent, const std::string& why) {
  const std::string& name = plan_.hosts[agent].host.name;
  known(name).why = why;
  known(name).gave_way = parts_.loop.now();
  history_.lost_since.try_emplace(name, parts_.loop.now());
  parts_.agents.close(agent);
}

/// Returns the host among those of the plan and the lost ones; null: it is neither.
Host* Gathering::find_host(const Host& wanted) {
  for (PlannedHost& planned : plan_.hosts)
    if (is_same_machine(planned.host, wanted)) return &planned.host;
  const auto lost = std::ranges::find_if(
      history_.lost, [&wanted](const Host& host) { return is_same_machine(host, wanted); });
  return lost == history_.lost.end() ? nullptr : &*lost;
}

bool Gathering::may_use(const Host& host) const {
  return !history_.named || has_host(*history_.named, host) ||
         has_host(parts_.config.restarts.spares, host);
}

bool Gathering::is_out(const Host& host) const {
  return history_.cooldown && history_.cooldown->is_out(host.name, parts_.loop.now());
}

// The plan.

/// Notes which agents are lost, and why. Logs those that were there at the last look.
void Gathering::note_losses() {
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    if (states[agent] != AgentState::lost) continue;
    const std::string& name = plan_.hosts[agent].host.name;
    const std::string& why = parts_.agents.why_lost(agent);
    const bool was_known = !history_.lost_since.try_emplace(name, parts_.loop.now()).second;
    if (why.empty() || std::exchange(known(name).why, why) == why) continue;
    if (is_first_) {
      parts_.log.warn("{}: {}", name, why);
    } else if (!was_known) {
      parts_.log.warn("agent on {} lost: {}", name, why);
    }
  }
}

/// Gives hosts without slots those of their resources. A host that lacks GPUs, where each slot is
/// to be one, is an error of the first start, and is left out later.
Result<> Gathering::find_slots() {
  const std::optional<SlotUnit> unit = parts_.config.placement.slot_unit;
  const std::vector<AgentState> states = parts_.agents.states();
  const std::vector<HostResources> resources = parts_.agents.known_resources();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    Host& host = plan_.hosts[agent].host;
    if (states[agent] != AgentState::connected || host.slots != 0) continue;
    const auto checked =
        unit == SlotUnit::gpu ? check_gpus({host}, {resources[agent]}) : Result<>();
    if (!checked && is_first_) return checked;
    if (!checked) {
      parts_.log.warn("{}", checked.error().message);
      leave_out(agent, checked.error().message);
      continue;
    }
    host = with_slots({host}, {resources[agent]}, unit.value_or(SlotUnit::gpu_or_cpu)).front();
  }
  return {};
}

Result<NextPlan> Gathering::next() {
  TRY(find_slots());
  NextPlan next;
  if (is_sized()) {
    next = TRY(sized_plan(std::move(plan_), std::move(history_.lost), parts_.agents.states(),
                          {.config = parts_.config,
                           .is_first = is_first_,
                           .order = [this](const Host& host) { return known(host.name).order; },
                           .is_out = [this](const Host& host) { return is_out(host); }}));
  } else {
    next = next_plan(std::move(plan_), std::move(history_.lost), parts_.agents.states());
  }
  std::erase_if(next.lost, [this](const Host& host) { return !may_use(host); });
  for (const std::string& name : next.taken)
    known(name).fresh = true;
  return next;
}

Result<> Gathering::plan_now() {
  note_losses();
  now_ = TRY(next());
  plan_ = std::move(now_.plan);
  history_.lost = std::move(now_.lost);
  parts_.agents.retain(plan_);
  return {};
}

void Gathering::keep_out(const std::string& host, double random) {
  if (!history_.cooldown) return;
  const Time now = parts_.loop.now();
  history_.cooldown->failed(host, now, random);
  parts_.log.print("{} is kept out for {} (--blacklist-cooldown-range)", host,
                   duration_text(std::chrono::ceil<seconds>(history_.cooldown->end(host) - now)));
}

// The wait for hosts.

/// False when no agent can come any more for a place that has none.
bool Gathering::may_return() const {
  // Spares that are connected have been taken: the others are connecting, or too small.
  std::vector<Host> candidates = hosts_of(plan_);
  candidates.erase(candidates.begin(),
                   candidates.begin() + static_cast<std::ptrdiff_t>(plan_.host_count()));
  const size_t connecting = candidates.size();
  std::ranges::copy(history_.lost, std::back_inserter(candidates));
  const auto may_take = [&](size_t place) {
    if (may_add(plan_.hosts[place].host)) return true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const bool may_come = i < connecting || may_add(candidates[i]);
      if (may_come && can_replace(candidates[i], plan_.hosts[place])) return true;
    }
    return false;
  };
  return std::ranges::all_of(now_.missing, may_take);
}

std::string Gathering::lost_hosts_text(const std::vector<std::string>& names) const {
  return format("waiting for {}, up to {} (--start-timeout)", join(names, ", "),
                duration_text(parts_.config.start_timeout));
}

std::optional<Gathering::Awaited> Gathering::awaited() const {
  return is_sized() ? awaited_slots() : awaited_places();
}

std::optional<Gathering::Awaited> Gathering::awaited_places() const {
  if (now_.missing.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const size_t place : now_.missing) {
    const Host& host = plan_.hosts[place].host;
    names.push_back(may_use(host) ? host.name : format("a host in the place of {}", host.name));
  }
  return Awaited{.until = began_ + parts_.config.start_timeout,
                 .text = lost_hosts_text(names),
                 .in_vain = !reading_.has_source() && !may_return()};
}

/// True if the job has named this host before one that has tasks.
bool Gathering::precedes_tasks(const Host& host) const {
  const Known* const its = find_known(host.name);
  return std::ranges::any_of(plan_.hosts, [&](const PlannedHost& planned) {
    const Known* const other = find_known(planned.host.name);
    return !planned.tasks.empty() && other != nullptr && its->order < other->order;
  });
}

std::optional<Gathering::Awaited> Gathering::awaited_slots() const {
  const RunConfig& config = parts_.config;
  const Time now = parts_.loop.now();
  const Time start_until = began_ + config.start_timeout;
  std::vector<std::string> lost_now;
  bool any_connects = false;
  bool any_is_needed = false;  // before the others, or it can connect only now
  bool any_may_come = history_.cooldown && history_.cooldown->next_end(now);
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    if (states[agent] != AgentState::connecting) continue;
    const Host& host = plan_.hosts[agent].host;
    any_connects = true;
    any_is_needed = any_is_needed || precedes_tasks(host) || !parts_.agents.can_add(host);
    if (was_last(host)) lost_now.push_back(host.name);
  }
  for (const Host& host : history_.lost) {
    if (!may_add(host)) continue;
    any_may_come = true;
    if (was_last(host)) lost_now.push_back(host.name);
  }
  if (now_.slots_missing > 0) {
    const bool is_early = is_first_ && any_connects && now < start_until;
    return Awaited{
        .until = first_began_ + config.restarts.elastic_timeout,
        .text = is_early ? ""
                         : format("{}; waiting for hosts, up to {} (--elastic-timeout)",
                                  slots_text(), duration_text(config.restarts.elastic_timeout)),
        .in_vain = !reading_.has_source() && !any_connects && !any_may_come};
  }
  if (now_.is_full && !is_first_) return std::nullopt;
  if (!lost_now.empty() && now < start_until)
    return Awaited{.until = start_until, .text = lost_hosts_text(lost_now), .required = false};
  // The ranks of the first start are on the hosts that the user has named first. The others are
  // idle then, and needed later.
  const bool is_brief = is_first_ ? now_.is_full && !any_is_needed : true;
  const Time newcomers_until = is_brief ? began_ + newcomer_patience : start_until;
  if (any_connects && now < newcomers_until)
    return Awaited{.until = newcomers_until, .text = {}, .required = false};
  return std::nullopt;
}

std::string Gathering::slots_text() const {
  std::vector<Host> there;
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const Host& host = plan_.hosts[agent].host;
    if (states[agent] == AgentState::connected && !is_out(host)) there.push_back(host);
  }
  return shortage_text(*parts_.config.restarts.size, there, unranked_count(plan_.roles), is_first_);
}

Error Gathering::missing(const Awaited& awaited) const {
  if (!is_sized()) {
    std::vector<std::string> lines;
    for (const size_t place : now_.missing) {
      const std::string& name = plan_.hosts[place].host.name;
      const Known* const its = find_known(name);
      const bool has_cause = its != nullptr && !its->why.empty();
      lines.push_back(name + ": " + (has_cause ? its->why : "its agent was lost"));
    }
    return {Errc::unreachable, join(lines, "\n")};
  }
  const std::string after = awaited.in_vain
                                ? ", and no other host can come"
                                : format(" after {} (--elastic-timeout)",
                                         duration_text(parts_.config.restarts.elastic_timeout));
  return {Errc::unreachable, slots_text() + after + failures_text()};
}

// Hosts that return.

Result<> Gathering::add(Host host) {
  const bool slots_known = host.slots > 0;
  TRY(parts_.agents.add(host, slots_known ? parts_.need : ResourceNeed::gpus));
  known(host.name).tried = true;
  plan_.hosts.push_back({.host = std::move(host)});
  return {};
}

/// Starts agents on the lost hosts of these places, and on others that could take them.
Result<> Gathering::try_for_places() {
  const std::vector<AgentState> states = parts_.agents.states();
  for (const size_t place : now_.missing) {
    const Host& host = plan_.hosts[place].host;
    if (states[place] != AgentState::lost || !may_add(host)) continue;
    TRY(parts_.agents.reconnect(place));
    known(host.name).fresh = true;
  }
  for (Host& host : std::exchange(history_.lost, {})) {
    const bool is_useful = std::ranges::any_of(
        now_.missing, [&](size_t place) { return can_replace(host, plan_.hosts[place]); });
    if (is_useful && may_add(host)) {
      TRY(add(std::move(host)));
    } else {
      history_.lost.push_back(std::move(host));
    }
  }
  return {};
}

/// A host that was lost long ago, or is new, is tried once, unless slots are missing. One that
/// could not start its tasks rests for a while even then.
Result<> Gathering::try_for_slots() {
  if (now_.is_full) return {};
  const Time now = parts_.loop.now();
  const bool is_short = now_.slots_missing > 0;
  for (Host& host : std::exchange(history_.lost, {})) {
    Known& its = known(host.name);
    const bool rests = its.gave_way && (!is_short || now < *its.gave_way + late_retry_pause);
    if (!rests && (!its.tried || is_short || its.last) && may_add(host)) {
      its.fresh = true;
      TRY(add(std::move(host)));
    } else {
      history_.lost.push_back(std::move(host));
    }
  }
  return {};
}

Result<> Gathering::try_lost_hosts() {
  return is_sized() ? try_for_slots() : try_for_places();
}

/// A host that still connects is not waited for.
void Gathering::leave_connecting_hosts() {
  const std::vector<AgentState> states = parts_.agents.states();
  std::vector<PlannedHost> hosts;
  for (size_t agent = 0; agent < states.size(); ++agent) {
    PlannedHost& host = plan_.hosts[agent];
    if (host.tasks.empty() && states[agent] == AgentState::connecting) {
      history_.lost.push_back(std::move(host.host));
    } else {
      hosts.push_back(std::move(host));
    }
  }
  plan_.hosts = std::move(hosts);
  parts_.agents.retain(plan_);
}

Result<> Gathering::gather() {
  began_ = parts_.loop.now();
  // At the first start the hosts have just been read.
  if (!is_first_) reading_.start();
  // A source has a time limit of its own.
  TRY(wait(Time::max(), [this] { return !reading_.is_under_way(); }));
  const auto connected = [this] {
    return std::ranges::count(parts_.agents.states(), AgentState::connected);
  };
  std::string shown;
  for (;;) {
    auto named = reading_.take();
    const bool is_new = named.has_value();
    if (named) use_named(*std::move(named));
    TRY(plan_now());
    for (const std::string& name : now_.taken)
      parts_.log.print("{} takes the place of a lost host", name);
    // Hosts that have just been named connect now, if only for a few seconds.
    if (is_new) TRY(try_lost_hosts());
    const auto awaits = awaited();
    if (!awaits) break;
    const Time now = parts_.loop.now();
    if (awaits->required && (now >= awaits->until || awaits->in_vain))
      return tl::unexpected(missing(*awaits));
    if (!awaits->text.empty() && std::exchange(shown, awaits->text) != awaits->text)
      parts_.log.print("{}", shown);
    TRY(try_lost_hosts());
    const bool is_long = now > began_ + parts_.config.start_timeout;
    const Duration pause = is_long ? late_retry_pause : retry_pause;
    reading_.start_after(retry_pause);
    TRY(wait(std::min(awaits->until, now + pause),
             [&, before = connected()] { return connected() != before || reading_.is_done(); }));
  }
  if (is_sized() && !is_first_) {
    parts_.log.print("going on with {}", ranks_text(plan_));
  } else if (!shown.empty()) {
    parts_.log.print("{}", is_sized() ? "starting with " + ranks_text(plan_)
                                      : std::string("all hosts are there again"));
  }
  leave_connecting_hosts();
  return {};
}

bool Gathering::is_late(int tries) const {
  const Time until = first_began_ + parts_.config.restarts.elastic_timeout;
  return tries >= tries_max && (!is_sized() || parts_.loop.now() >= until);
}

bool Gathering::is_fresh(size_t agent) const {
  const PlannedHost& planned = plan_.hosts[agent];
  const Known* const its = find_known(planned.host.name);
  return !planned.tasks.empty() && its != nullptr && its->fresh;
}

bool Gathering::give_way(const std::vector<std::string>& why) {
  bool any = false;
  for (size_t agent = 0; agent < why.size(); ++agent) {
    const std::string& name = plan_.hosts[agent].host.name;
    if (why[agent].empty() || !is_fresh(agent)) continue;
    if (known(name).why != why[agent]) parts_.log.warn("{}: {}", name, why[agent]);
    leave_out(agent, why[agent]);
    any = true;
  }
  return any;
}

}  // namespace dt

#include "launcher/job/gathering.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/hosts/host_range.h"
#include "launcher/plan/job_plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace dt {

namespace {

/// The pause between two tries of a lost host, and between two readings of the hosts.
constexpr Duration retry_pause = seconds(1);
/// The same in a long wait: sshd may lock out a client that logs in too often.
constexpr Duration late_retry_pause = seconds(5);
/// How long hosts that were lost long ago, or are new, may take to connect, while others wait.
constexpr Duration newcomer_patience = seconds(5);

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

}  // namespace

Gathering::Gathering(const GatheringParts& parts, Plan& plan, HostHistory& history, Time time_limit)
    : parts_(parts),
      plan_(plan),
      history_(history),
      time_limit_(time_limit),
      began_(parts.loop.now()) {
  const bool is_first = plan.tasks.empty();
  for (const PlannedHost& planned : plan.hosts) {
    order_.emplace(planned.host.name, order_.size());
    if (is_first) tried_.insert(planned.host.name);
    if (!planned.tasks.empty()) last_.insert(planned.host.name);
  }
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
  for (const auto& [name, why] : why_)
    text += format("\n{}: {}", name, why);
  return text;
}

// The source of the hosts.

void Gathering::start_reading() {
  if (!parts_.read_hosts || reading_->is_under_way) return;
  reading_->is_under_way = true;
  // The reading may outlive this object.
  parts_.read_hosts([reading = reading_](Result<std::vector<Host>> hosts) {
    reading->is_under_way = false;
    reading->result = std::move(hosts);
  });
  read_at_ = parts_.loop.now();
}

void Gathering::use_reading() {
  const auto result = std::exchange(reading_->result, std::nullopt);
  if (!result) return;
  if (*result) {
    unread_.clear();
    use_named(**result);
  } else if (std::exchange(unread_, result->error().message) != unread_) {
    parts_.log.warn("{}; the hosts that were named before stay", unread_);
  }
}

void Gathering::use_named(const std::vector<Host>& named) {
  history_.named = named;
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const Host& host = plan_.hosts[agent].host;
    if (may_use(host) || states[agent] == AgentState::lost) continue;
    why_[host.name] = "is not named any more";
    parts_.log.print("{} is not named any more, and is not used", host.name);
    history_.lost_since.try_emplace(host.name, parts_.loop.now());
    parts_.agents.close(agent);
  }
  std::erase_if(history_.lost, [this](const Host& host) { return !may_use(host); });
  for (const Host& host : named) {
    if (Host* const known = find_host(host)) {
      // The places of a job with a fixed size keep their slots.
      if (is_sized() && host.slots > 0) known->slots = host.slots;
    } else {
      history_.lost.push_back(host);
    }
  }
}

/// Returns the host among those of the plan and the lost ones; null: it is neither.
Host* Gathering::find_host(const Host& wanted) {
  for (PlannedHost& planned : plan_.hosts)
    if (planned.host.same_as(wanted)) return &planned.host;
  const auto lost = std::ranges::find_if(
      history_.lost, [&wanted](const Host& host) { return host.same_as(wanted); });
  return lost == history_.lost.end() ? nullptr : &*lost;
}

bool Gathering::may_use(const Host& host) const {
  return !history_.named || has_host(*history_.named, host) ||
         has_host(parts_.config.restarts.spares, host);
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
    if (why.empty() || std::exchange(why_[name], why) == why) continue;
    if (last_.empty()) {
      parts_.log.warn("{}: {}", name, why);
    } else if (!was_known) {
      parts_.log.warn("agent on {} lost: {}", name, why);
    }
  }
}

/// Sorts the hosts of the plan by the order in which the job has named or used them: that does not
/// depend on their latencies. Returns the states of their agents.
std::vector<AgentState> Gathering::sort_hosts() {
  const std::vector<AgentState> states = parts_.agents.states();
  std::vector<size_t> agents(states.size());
  std::iota(agents.begin(), agents.end(), size_t{0});
  std::ranges::stable_sort(
      agents, {}, [this](size_t agent) { return order_.at(plan_.hosts[agent].host.name); });
  std::vector<PlannedHost> hosts;
  std::vector<AgentState> sorted;
  for (const size_t agent : agents) {
    hosts.push_back(std::move(plan_.hosts[agent]));
    sorted.push_back(states[agent]);
  }
  plan_.hosts = std::move(hosts);
  return sorted;
}

Result<NextPlan> Gathering::next() {
  const std::vector<AgentState> states = parts_.agents.states();
  const std::vector<HostResources> resources = parts_.agents.known_resources();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    Host& host = plan_.hosts[agent].host;
    if (states[agent] == AgentState::connected && host.slots == 0)
      host = with_slots({host}, {resources[agent]}, parts_.config.placement.slot_unit).front();
  }
  NextPlan next;
  if (is_sized()) {
    const std::vector<AgentState> sorted = sort_hosts();
    next = TRY(sized_plan(std::move(plan_), std::move(history_.lost), sorted,
                          {.config = parts_.config,
                           .is_first = last_.empty(),
                           .is_out = [this](const Host& host) { return is_out(host); }}));
  } else {
    next = next_plan(std::move(plan_), std::move(history_.lost), states);
  }
  std::erase_if(next.lost, [this](const Host& host) { return !may_use(host); });
  fresh_.insert(next.taken.begin(), next.taken.end());
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

std::optional<Gathering::Awaited> Gathering::awaited_places() const {
  if (now_.missing.empty()) return std::nullopt;
  std::vector<std::string> names;
  for (const size_t place : now_.missing)
    names.push_back(plan_.hosts[place].host.name);
  return Awaited{.until = began_ + parts_.config.start_timeout,
                 .text = lost_hosts_text(names),
                 .in_vain = !parts_.read_hosts && !may_return()};
}

std::optional<Gathering::Awaited> Gathering::awaited_slots() const {
  const bool is_first = last_.empty();
  const Time now = parts_.loop.now();
  const Time start_until = began_ + parts_.config.start_timeout;
  std::vector<std::string> lost_now;
  bool any_connects = false;
  bool any_may_come = false;
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    if (states[agent] != AgentState::connecting) continue;
    const std::string& name = plan_.hosts[agent].host.name;
    any_connects = true;
    if (last_.contains(name) && !is_out(plan_.hosts[agent].host)) lost_now.push_back(name);
  }
  for (const Host& host : history_.lost) {
    if (!may_add(host)) continue;
    any_may_come = true;
    if (last_.contains(host.name) && !is_out(host)) lost_now.push_back(host.name);
  }
  any_may_come = any_may_come || (history_.cooldown && history_.cooldown->next_end(now));
  if (now_.slots_missing > 0) {
    const bool is_early = is_first && any_connects && now < start_until;
    return Awaited{.until = began_ + parts_.config.restarts.elastic_timeout,
                   .text = is_early ? ""
                                    : format("{}; waiting for hosts, up to {} (--elastic-timeout)",
                                             slots_text(),
                                             duration_text(parts_.config.restarts.elastic_timeout)),
                   .in_vain = !parts_.read_hosts && !any_connects && !any_may_come};
  }
  if (now_.is_full) return std::nullopt;
  if (!lost_now.empty() && now < start_until)
    return Awaited{.until = start_until, .text = lost_hosts_text(lost_now), .required = false};
  const Time newcomers_until = is_first ? start_until : began_ + newcomer_patience;
  if (any_connects && now < newcomers_until)
    return Awaited{.until = newcomers_until, .text = {}, .required = false};
  return std::nullopt;
}

/// "6 of 8 slots".
std::string Gathering::slots_text() const {
  int slots = 0;
  const std::vector<AgentState> states = parts_.agents.states();
  for (size_t agent = 0; agent < states.size(); ++agent) {
    const Host& host = plan_.hosts[agent].host;
    if (states[agent] == AgentState::connected && !is_out(host)) slots += host.slots;
  }
  return format("{} of {} slots", slots, slots + now_.slots_missing);
}

Error Gathering::missing(const Awaited& awaited) const {
  if (!is_sized()) {
    std::vector<std::string> lines;
    for (const size_t place : now_.missing) {
      const std::string& name = plan_.hosts[place].host.name;
      const auto why = why_.find(name);
      lines.push_back(name + ": " + (why == why_.end() ? "its agent was lost" : why->second));
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
  tried_.insert(host.name);
  order_.emplace(host.name, order_.size());
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
    fresh_.insert(host.name);
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

/// A host that was lost long ago, or is new, is tried once, unless slots are missing.
Result<> Gathering::try_for_slots() {
  if (now_.is_full) return {};
  for (Host& host : std::exchange(history_.lost, {})) {
    const bool again = tried_.contains(host.name);
    const bool is_wanted = !again || now_.slots_missing > 0 || last_.contains(host.name);
    if (is_wanted && may_add(host)) {
      fresh_.insert(host.name);
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
  if (!last_.empty()) start_reading();
  // A source has a time limit of its own.
  TRY(wait(Time::max(), [this] { return !reading_->is_under_way; }));
  const auto connected = [this] {
    return std::ranges::count(parts_.agents.states(), AgentState::connected);
  };
  std::string shown;
  for (;;) {
    use_reading();
    TRY(plan_now());
    for (const std::string& name : now_.taken)
      parts_.log.print("{} (spare) takes the place of a lost host", name);
    const auto awaited = this->awaited();
    if (!awaited) break;
    const Time now = parts_.loop.now();
    if (awaited->required && (now >= awaited->until || awaited->in_vain))
      return tl::unexpected(missing(*awaited));
    if (!awaited->text.empty() && std::exchange(shown, awaited->text) != awaited->text)
      parts_.log.print("{}", shown);
    TRY(try_lost_hosts());
    const bool is_late = now > began_ + parts_.config.start_timeout;
    const Duration pause = is_late ? late_retry_pause : retry_pause;
    if (now >= std::max(read_at_, began_) + retry_pause) start_reading();
    TRY(wait(std::min(awaited->until, now + pause), [&, before = connected()] {
      return connected() != before || reading_->result.has_value();
    }));
  }
  if (is_sized() && (!last_.empty() || !shown.empty())) {
    parts_.log.print("going on with {}", ranks_text(plan_));
  } else if (!shown.empty()) {
    parts_.log.print("all hosts are there again");
  }
  leave_connecting_hosts();
  return {};
}

bool Gathering::give_way(const std::vector<Prepared>& answers) {
  bool any = false;
  for (size_t agent = 0; agent < answers.size(); ++agent) {
    const PlannedHost& planned = plan_.hosts[agent];
    const std::string& failure = answers[agent].failure;
    const std::string& name = planned.host.name;
    if (failure.empty() || planned.tasks.empty() || !fresh_.contains(name)) continue;
    if (why_[name] != failure) parts_.log.warn("{}: {}", name, failure);
    why_[name] = failure;
    history_.lost_since.try_emplace(name, parts_.loop.now());
    parts_.agents.close(agent);
    any = true;
  }
  return any;
}

}  // namespace dt

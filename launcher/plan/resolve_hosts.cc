#include "launcher/plan/resolve_hosts.h"

#include "base/format.h"
#include "base/host_name.h"
#include "launcher/config/hosts/host_merger.h"
#include "launcher/plan/external_plan.h"
#include "launcher/plan/job_size_rules.h"
#include "launcher/plan/some_of.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dt {

namespace {

std::string login_text(const Host& host) {
  return host.user.empty() ? host.name : host.user + "@" + host.name;
}

Result<HostList> this_host(const RunConfig& config) {
  const int slots = config.placement.per_host.value_or(task_count(config.roles));
  if (slots == 0) {
    return fail(Errc::input, "how many processes? give -np N, or hosts with -H HOST:SLOTS,…");
  }
  return HostList{.hosts = {{.name = "localhost", .user = {}, .slots = slots, .here = true}},
                  .warnings = {}};
}

/// Finds the hosts of the job that roles name.
class JobHosts {
 public:
  JobHosts(const std::vector<Host>& hosts, const std::vector<std::string>& own_names)
      : hosts_(hosts), own_names_(own_names) {
    for (size_t i = 0; i < hosts.size(); ++i) {
      by_name_.emplace(canonical_host(hosts[i].name), i);
      if (hosts[i].here) here_ = i;
    }
  }
  /// Returns a role's hosts under the job's names, each once. Fails for a host that is not in the
  /// job.
  Result<std::vector<Host>> of_role(const Role& role) const;

 private:
  std::optional<size_t> find(const Host& meant) const;
  Result<std::vector<size_t>> indices_of(const Role& role) const;

  const std::vector<Host>& hosts_;
  const std::vector<std::string>& own_names_;
  std::map<std::string, size_t> by_name_;  ///< canonical
  std::optional<size_t> here_;
};

/// Returns the index of a host, none if it is not in the job. This machine matches by any of its
/// names.
std::optional<size_t> JobHosts::find(const Host& meant) const {
  if (here_ && is_local(meant, own_names_)) return here_;
  const auto found = by_name_.find(canonical_host(meant.name));
  if (found == by_name_.end()) return std::nullopt;
  const bool same_user = meant.user.empty() || meant.user == hosts_[found->second].user;
  return same_user ? std::optional(found->second) : std::nullopt;
}

Result<std::vector<size_t>> JobHosts::indices_of(const Role& role) const {
  std::vector<size_t> indices;
  for (const Host& meant : role.hosts) {
    if (const auto at = find(meant)) {
      indices.push_back(*at);
      continue;
    }
    std::vector<std::string> names;
    for (const Host& host : hosts_)
      names.push_back(login_text(host));
    return fail(Errc::input, format("role {}: host {} is none of the job's hosts ({})", role.name,
                                    login_text(meant), some_of(names)));
  }
  return indices;
}

Result<std::vector<Host>> JobHosts::of_role(const Role& role) const {
  const std::vector<size_t> indices = TRY(indices_of(role));
  std::vector<Host> its;
  std::map<size_t, size_t> known;  // indices in hosts_ to those in `its`
  for (size_t i = 0; i < indices.size(); ++i) {
    const Host& meant = role.hosts[i];
    Host host = hosts_[indices[i]];
    host.slots = meant.slots;
    host.max_slots = meant.max_slots;
    host.counted = meant.counted;
    const auto [at, fresh] = known.try_emplace(indices[i], its.size());
    if (fresh) {
      its.push_back(std::move(host));
      continue;
    }
    const Result<> merged = merge_mention(its[at->second], std::move(host));
    if (!merged) return fail(Errc::input, format("role {}: {}", role.name, merged.error().message));
  }
  return its;
}

Result<std::vector<Role>> with_hosts_of_job(std::vector<Role> roles, const std::vector<Host>& hosts,
                                            const std::vector<std::string>& own_names) {
  if (std::ranges::all_of(roles, [](const Role& role) { return role.hosts.empty(); })) return roles;
  const JobHosts job(hosts, own_names);
  for (Role& role : roles)
    role.hosts = TRY(job.of_role(role));
  return roles;
}

std::string one_machine(const std::vector<std::string>& names, const Host& host) {
  return format("{} are one machine; {}", some_of(names),
                host.slots == 0 ? "counted once" : format("merged to {} slots", host.slots));
}

/// Merges all names of this machine into one host. Each name without slots counts as one slot,
/// unless roles share the host. Where the user wants the slots of the hosts' resources, given ones
/// do not count.
Result<HostList> distinct_hosts(const std::vector<Host>& hosts,
                                const std::vector<std::string>& own_names,
                                const PlacementOptions& placement) {
  HostList list;
  std::vector<std::string> names;
  for (Host host : hosts) {
    host.here = is_local(host, own_names);
    if (host.here) names.push_back(host.name);
    const bool again = host.here && names.size() > 1;
    if (again) {
      Host& first = *std::ranges::find(list.hosts, true, &Host::here);
      TRY(first.shared ? merge_host(first, host) : merge_mention(first, std::move(host)));
    } else {
      list.hosts.push_back(std::move(host));
    }
  }
  for (Host& host : list.hosts)
    if (placement.slot_unit) host.slots = host.slots_without_gpus = 0;
  const auto here = std::ranges::find(list.hosts, true, &Host::here);
  if (names.size() > 1) list.warnings.push_back(one_machine(names, *here));
  return list;
}

/// Replaces slots by --ppn. Fails for a host with fewer slots, unless --oversubscribe is given.
Result<> set_per_host(std::vector<Host>& hosts, const RunConfig& config) {
  const int per_host = *config.placement.per_host;
  for (Host& host : hosts) {
    const int offered = config.oversubscribe ? host.max_slots : host.slots;
    if (offered != 0 && offered < per_host) {
      return fail(Errc::input,
                  format("--ppn {0}: host {1} has {2}; use --ppn {3}{4}", per_host, host.name,
                         config.oversubscribe ? format("max_slots={}", offered)
                                              : format("{} slots", offered),
                         offered, config.oversubscribe ? "" : " or --oversubscribe"));
    }
    host.slots = per_host;
  }
  if (config.restarts.size) return {};  // it decides how many are needed
  const int64_t all = int64_t{per_host} * static_cast<int64_t>(hosts.size());
  const int count = task_count(config.roles);
  if (count <= all) return {};
  return fail(Errc::input,
              format("asked for {} processes, but --ppn {} on {} host{} makes {}; use "
                     "-np {} or a larger --ppn",
                     count, per_host, hosts.size(), hosts.size() == 1 ? "" : "s", all, all));
}

/// Appends the hosts of --spare. Fails for one that is a host of the job already.
Result<> add_spares(ResolvedHosts& resolved, const RunConfig& config,
                    const std::vector<std::string>& own_names) {
  for (Host spare : config.restarts.spares) {
    spare.here = is_local(spare, own_names);
    const auto same = std::ranges::find_if(resolved.hosts, [&spare](const Host& host) {
      return (spare.here && host.here) || canonical_host(spare.name) == canonical_host(host.name);
    });
    if (same != resolved.hosts.end()) {
      return fail(Errc::input, format("--spare {}: the job uses {} already; name other hosts",
                                      login_text(spare), login_text(*same)));
    }
    if (const auto most = config.placement.per_host)
      spare.slots = spare.slots == 0 ? *most : std::min(spare.slots, *most);
    resolved.hosts.push_back(std::move(spare));
    ++resolved.spares;
  }
  return {};
}

/// True if the hosts offer too few slots now, and others may be named later.
bool may_wait_for_hosts(const RunConfig& config, const ResolvedHosts& resolved) {
  if (!config.restarts.size || !config.host_source.changes()) return false;
  return needed_ranks(*config.restarts.size, resolved.hosts, unranked_count(resolved.roles), true)
             .ranks == 0;
}

/// Plans the tasks of the external cluster that this machine starts.
Result<Plan> given_plan(const RunConfig& config, const std::vector<std::string>& own_names) {
  Plan plan = TRY(make_external_plan(*config.external_cluster, config.roles, own_names));
  for (const Role* role : plan.roles_here()) {
    if (!role->command.empty() || !config.command.empty()) continue;
    return fail(Errc::input, format("no command given for role {0}, which has tasks here; write it "
                                    "at the end, or as --role-command {0}=COMMAND",
                                    role->name));
  }
  return plan;
}

}  // namespace

bool all_slots_known(const std::vector<Host>& hosts) {
  return std::ranges::none_of(hosts, [](const Host& host) { return host.slots == 0; });
}

PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts, size_t spares,
                         std::vector<Role> roles) {
  const PlacementOptions& placement = config.placement;
  const auto first_spare = hosts.end() - static_cast<std::ptrdiff_t>(spares);
  std::vector<Host> at_the_end(first_spare, hosts.end());
  hosts.erase(first_spare, hosts.end());
  return {.hosts = std::move(hosts),
          .spares = std::move(at_the_end),
          .keep_idle_hosts = config.restarts.max > 0 || config.restarts.size,
          .roles = std::move(roles),
          .oversubscribe = config.oversubscribe,
          .map_by = placement.map_by,
          .rank_by = placement.rank_by.value_or(placement.map_by.value_or(MapBy::slot)),
          .allocation = config.allocation,
          .size = config.restarts.size};
}

Result<std::vector<Host>> found_hosts(const RunConfig& config, const HostList& found,
                                      const std::vector<std::string>& own_names) {
  HostList list = TRY(distinct_hosts(found.hosts, own_names, config.placement));
  if (config.placement.per_host) TRY(set_per_host(list.hosts, config));
  return std::move(list.hosts);
}

Result<ResolvedHosts> resolve_hosts(const RunConfig& config,
                                    const std::vector<std::string>& own_names) {
  ResolvedHosts resolved;
  if (config.external_cluster) {
    resolved.plan = TRY(given_plan(config, own_names));
    resolved.hosts = hosts_of(*resolved.plan);
    return resolved;
  }
  const bool is_here = config.hosts.empty() && config.host_source.program.empty();
  HostList list =
      TRY(is_here ? this_host(config) : distinct_hosts(config.hosts, own_names, config.placement));
  resolved.roles = TRY(with_hosts_of_job(config.roles, list.hosts, own_names));
  if (config.placement.per_host) TRY(set_per_host(list.hosts, config));
  resolved.hosts = std::move(list.hosts);
  resolved.warnings = std::move(list.warnings);
  TRY(add_spares(resolved, config, own_names));
  if (!all_slots_known(resolved.hosts) || may_wait_for_hosts(config, resolved)) return resolved;
  resolved.plan = TRY(
      make_plan(plan_request(config, std::move(resolved.hosts), resolved.spares, resolved.roles)));
  resolved.hosts = hosts_of(*resolved.plan);
  resolved.spares = resolved.hosts.size() - resolved.plan->host_count();
  return resolved;
}

}  // namespace dt

#include "launcher/plan/job_plan.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/config/hosts/host_merger.h"
#include "launcher/config/macros.h"
#include "launcher/plan/external_plan.h"
#include "launcher/plan/success_rule.h"

#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <span>

namespace dt {

namespace {

/// Returns every name and address by which a user may name this machine.
std::vector<std::string> own_names() {
  std::vector<std::string> names;
  for (const InterfaceAddress& address : interface_addresses())
    names.push_back(address.ip);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string_view full = name;
  names.emplace_back(full);
  names.emplace_back(full.substr(0, full.find('.')));
  return names;
}

/// "a, b, c and 5 more": at most eight names.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t shown_max = 8;
  if (names.size() <= shown_max) return join(names, ", ");
  return format("{} and {} more", join(std::span(names).first(shown_max), ", "),
                names.size() - shown_max);
}

std::string login_text(const Host& host) {
  return host.user.empty() ? host.name : host.user + "@" + host.name;
}

std::string one_machine(const std::vector<std::string>& names, const Host& host) {
  return format("{} are one machine; {}", some_of(names),
                host.slots == 0 ? "counted once" : format("merged to {} slots", host.slots));
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
  explicit JobHosts(const std::vector<Host>& hosts) : hosts_(hosts) {
    for (size_t i = 0; i < hosts.size(); ++i) {
      by_name_.emplace(canonical_host(hosts[i].name), i);
      if (hosts[i].here) here_ = i;
    }
  }
  /// Returns the index of a host, none if it is not in the job. This machine matches by any of its
  /// names.
  std::optional<size_t> find(const Host& meant) const {
    if (here_ && is_local(meant, own_)) return here_;
    const auto found = by_name_.find(canonical_host(meant.name));
    if (found == by_name_.end()) return std::nullopt;
    const bool same_user = meant.user.empty() || meant.user == hosts_[found->second].user;
    return same_user ? std::optional(found->second) : std::nullopt;
  }
  /// Returns a role's hosts under the job's names, each once. Skips hosts that are not in the job:
  /// they have no task of this role.
  Result<std::vector<Host>> of_role(const Role& role) const;

 private:
  const std::vector<Host>& hosts_;
  std::map<std::string, size_t> by_name_;  ///< canonical
  std::optional<size_t> here_;
  std::vector<std::string> own_ = own_names();
};

Result<std::vector<Host>> JobHosts::of_role(const Role& role) const {
  std::vector<Host> its;
  std::map<size_t, size_t> indices;  // from hosts_ to `its`
  for (const Host& meant : role.hosts) {
    const std::optional<size_t> at = find(meant);
    if (!at) continue;
    Host host = hosts_[*at];
    host.slots = meant.slots;
    host.max_slots = meant.max_slots;
    host.counted = meant.counted;
    const auto [known, fresh] = indices.try_emplace(*at, its.size());
    if (fresh) {
      its.push_back(std::move(host));
      continue;
    }
    const Result<> merged = merge_mention(its[known->second], std::move(host));
    if (!merged) return fail(Errc::input, format("role {}: {}", role.name, merged.error().message));
  }
  return its;
}

bool have_hosts(const std::vector<Role>& roles) {
  return std::ranges::any_of(roles, [](const Role& role) { return !role.hosts.empty(); });
}

Result<> check_hosts_of_roles(const RunConfig& config, const std::vector<Host>& hosts) {
  if (!have_hosts(config.roles)) return {};
  const JobHosts job(hosts);
  for (const Role& role : config.roles) {
    for (const Host& meant : role.hosts) {
      if (job.find(meant)) continue;
      std::vector<std::string> names;
      for (const Host& host : hosts)
        names.push_back(login_text(host));
      return fail(Errc::input, format("role {}: host {} is none of the job's hosts ({})", role.name,
                                      login_text(meant), some_of(names)));
    }
    TRY(job.of_role(role));
  }
  return {};
}

std::vector<Role> with_hosts_of_job(std::vector<Role> roles, const std::vector<Host>& hosts) {
  if (!have_hosts(roles)) return roles;
  const JobHosts job(hosts);
  for (Role& role : roles) {
    Result<std::vector<Host>> its = job.of_role(role);
    assert(its);  // check_hosts_of_roles has passed
    role.hosts = *std::move(its);
  }
  return roles;
}

/// Merges all names of this machine into one host. Each name without slots counts as one slot,
/// unless roles share the host.
Result<HostList> distinct_hosts(const std::vector<Host>& hosts) {
  const std::vector<std::string> own = own_names();
  HostList list;
  std::vector<std::string> names;
  for (Host host : hosts) {
    host.here = is_local(host, own);
    if (host.here) names.push_back(host.name);
    const bool again = host.here && names.size() > 1;
    if (again) {
      Host& first = *std::ranges::find(list.hosts, true, &Host::here);
      TRY(first.shared ? merge_host(first, host) : merge_mention(first, std::move(host)));
    } else {
      list.hosts.push_back(std::move(host));
    }
  }
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
  const int64_t all = int64_t{per_host} * static_cast<int64_t>(hosts.size());
  const int count = task_count(config.roles);
  if (count <= all) return {};
  return fail(Errc::input,
              format("asked for {} processes, but --ppn {} on {} host{} makes {}; use "
                     "-np {} or a larger --ppn",
                     count, per_host, hosts.size(), hosts.size() == 1 ? "" : "s", all, all));
}

/// Plans the tasks of the external cluster that this machine starts.
Result<Plan> given_plan(const RunConfig& config) {
  Plan plan = TRY(make_external_plan(*config.external_cluster, config.roles, own_names()));
  for (const Role* role : plan.roles_here()) {
    if (!role->command.empty() || !config.command.empty()) continue;
    return fail(Errc::input, format("no command given for role {0}, which has tasks here; write it "
                                    "at the end, or as --role-command {0}=COMMAND",
                                    role->name));
  }
  return plan;
}

}  // namespace

Result<HostList> job_hosts(const RunConfig& config) {
  if (config.external_cluster) {
    const Plan plan = TRY(given_plan(config));
    return HostList{.hosts = {plan.hosts.front().host}, .warnings = {}};
  }
  HostList list = TRY(config.hosts.empty() ? this_host(config) : distinct_hosts(config.hosts));
  TRY(check_hosts_of_roles(config, list.hosts));
  if (config.placement.per_host) TRY(set_per_host(list.hosts, config));
  if (!all_slots_known(list.hosts)) return list;
  const Plan plan = TRY(make_plan(plan_request(config, list.hosts, {})));
  list.hosts.clear();
  for (const PlannedHost& planned : plan.hosts)
    list.hosts.push_back(planned.host);
  return list;
}

Result<Plan> job_plan(const RunConfig& config, std::vector<Host> hosts,
                      const std::vector<HostResources>& resources) {
  if (config.external_cluster) return given_plan(config);
  return make_plan(plan_request(config, std::move(hosts), resources));
}

Result<> check_targets(const RunConfig& config, const Plan& plan) {
  TRY(check_success(config.success, plan));
  const StdinTarget& target = config.stdin_target;
  if (target.kind != StdinTarget::Kind::rank) return {};
  if (std::ranges::count(plan.tasks, target.rank, &Task::rank) > 0) return {};
  if (plan.world_size == 0)
    return fail(Errc::input, format("--stdin {}: no task of this job has a rank", target.rank));
  if (target.rank < plan.world_size)
    return fail(Errc::input, format("--stdin {0}: rank {0} is not started here", target.rank));
  return fail(Errc::input, format("--stdin {}: there are only {} ranks, 0 to {}", target.rank,
                                  plan.world_size, plan.world_size - 1));
}

bool all_slots_known(const std::vector<Host>& hosts) {
  return std::ranges::none_of(hosts, [](const Host& host) { return host.slots == 0; });
}

ResourceNeed resource_need(const RunConfig& config, const std::vector<Host>& hosts) {
  const PlacementOptions& placement = config.placement;
  if (!all_slots_known(hosts) || placement.report_bindings) return ResourceNeed::gpus;
  if (config.dry_run) return ResourceNeed::nothing;
  if (placement.gpu_bind != GpuBind::none || placement.bind_to == BindTo::automatic)
    return ResourceNeed::gpus;
  return placement.bind_to == BindTo::none ? ResourceNeed::nothing : ResourceNeed::cpus;
}

std::vector<HostResources> with_forwarded_devices(std::vector<HostResources> resources,
                                                  const Environment& forwarded) {
  const auto given = forwarded.find("CUDA_VISIBLE_DEVICES");
  // A macro gives each task its own list, which cannot be counted yet.
  if (given == forwarded.end() || macro_need(given->second).any) return resources;
  for (HostResources& host : resources)
    host.visible.cuda = given->second;
  return resources;
}

PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts,
                         const std::vector<HostResources>& resources) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].slots != 0) continue;
    const size_t gpus = visible_gpus(resources[i].gpus.gpus, resources[i].visible).size();
    const size_t units = gpus > 0 ? gpus : resources[i].topology.cpus().size();
    hosts[i].slots = static_cast<int>(std::min(units, size_t{slots_max}));
    if (hosts[i].max_slots != 0) hosts[i].slots = std::min(hosts[i].slots, hosts[i].max_slots);
  }
  std::vector<Role> roles = with_hosts_of_job(config.roles, hosts);
  return {.hosts = std::move(hosts),
          .roles = std::move(roles),
          .oversubscribe = config.oversubscribe,
          .map_by = config.placement.map_by,
          .rank_by = config.placement.rank_by};
}

std::vector<std::string> resource_warnings(const std::vector<Host>& hosts,
                                           const std::vector<HostResources>& resources) {
  std::map<std::string, std::vector<std::string>> hosts_by_warning;
  for (size_t i = 0; i < resources.size(); ++i) {
    for (const std::string& warning : resources[i].gpus.warnings)
      hosts_by_warning[warning].push_back(hosts[i].name);
    // Without a driver the host just has no GPUs: no warning.
    if (resources[i].gpu_failure.empty() || !resources[i].has_driver) continue;
    hosts_by_warning[resources[i].gpu_failure].push_back(hosts[i].name);
  }
  std::vector<std::string> warnings;
  for (const auto& [warning, names] : hosts_by_warning)
    warnings.push_back(format("{}: {}", some_of(names), warning));
  return warnings;
}

}  // namespace dt

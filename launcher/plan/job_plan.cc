#include "launcher/plan/job_plan.h"

#include "base/format.h"
#include "launcher/config/words/macros.h"
#include "launcher/plan/role_binding.h"
#include "launcher/plan/some_of.h"
#include "launcher/plan/success_rule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace dt {
namespace {

/// A scheduler gives slots, too, where only the agent knows whether the host has GPUs.
bool lacks_slots(const Host& host) {
  return host.slots == 0 && host.slots_without_gpus == 0;
}

}  // namespace

Result<> check_gpus(const std::vector<Host>& hosts, const std::vector<HostResources>& resources) {
  std::vector<std::string> without;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (visible_gpus(resources[i].gpus.gpus, resources[i].visible).empty())
      without.push_back(hosts[i].name);
  }
  if (without.empty()) return {};
  return fail(Errc::input, format("--nproc-per-node gpu: no GPU can be used on {}; write auto for "
                                  "CPUs there, or a number",
                                  some_of(without)));
}

namespace {

/// True for a command such as `bash -s` or `python3 -`, whose program is its standard input.
bool reads_program_from_stdin(const std::vector<std::string>& command) {
  const std::string_view path = command.front();
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view shells[] = {"sh", "bash", "dash", "zsh", "ksh"};
  const bool shell = std::ranges::count(shells, name) > 0;
  const bool python = name.starts_with("python") &&
                      name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
  if (!shell && !python) return false;
  for (auto word = command.begin() + 1; word != command.end(); ++word) {
    if (*word == "-") return python || word + 1 == command.end();
    if (!word->starts_with('-') || word->starts_with("--")) return false;
    if (word->find_first_of(shell ? "c" : "cm") != std::string::npos) return false;
    if (shell && word->find('s') != std::string::npos) return true;
  }
  return command.size() == 1;
}

/// A program that nobody can write would seem to end well.
Result<> check_programs_from_stdin(const RunConfig& config, const Plan& plan) {
  const bool read = config.stdin_target.is_read();
  for (const Role& role : plan.roles) {
    const auto& command = role.command.empty() ? config.command : role.command;
    if (read || command.empty() || !reads_program_from_stdin(command)) continue;
    const bool alone = command.size() == 1;
    return fail(Errc::input,
                format("{} reads its program from standard input, which no process of the job has; "
                       "give a file, or add --stdin all",
                       alone ? command[0] : command[0] + " " + command[1]));
  }
  return {};
}

}  // namespace

std::vector<Host> with_slots(std::vector<Host> hosts, const std::vector<HostResources>& resources,
                             SlotUnit unit) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].slots != 0) continue;
    const size_t gpus = unit == SlotUnit::cpu
                            ? 0
                            : visible_gpus(resources[i].gpus.gpus, resources[i].visible).size();
    const int cpus =
        hosts[i].slots_without_gpus != 0 ? hosts[i].slots_without_gpus : resources[i].cpu_slots();
    const size_t units = gpus > 0 ? gpus : static_cast<size_t>(cpus);
    hosts[i].slots = static_cast<int>(std::min(units, size_t{slots_max}));
    if (hosts[i].max_slots != 0) hosts[i].slots = std::min(hosts[i].slots, hosts[i].max_slots);
  }
  return hosts;
}

Result<Plan> job_plan(const RunConfig& config, const ResolvedHosts& resolved,
                      const std::vector<HostResources>& resources) {
  if (resolved.plan) return *resolved.plan;
  const SlotUnit unit = config.placement.slot_unit.value_or(SlotUnit::gpu_or_cpu);
  if (unit == SlotUnit::gpu) TRY(check_gpus(resolved.hosts, resources));
  PlanRequest request = plan_request(config, with_slots(resolved.hosts, resources, unit),
                                     resolved.spares, resolved.roles);
  std::ranges::transform(resolved.hosts, std::back_inserter(request.slots_found), lacks_slots);
  return make_plan(request);
}

std::vector<std::string> idle_host_warnings(const ResolvedHosts& resolved, const Plan& plan) {
  std::vector<std::string> idle;
  for (const Host& host : resolved.hosts) {
    const auto planned = [&host](const PlannedHost& one) { return one.host.same_as(host); };
    if (lacks_slots(host) && std::ranges::none_of(plan.hosts, planned)) idle.push_back(host.name);
  }
  if (idle.empty()) return {};
  const bool one = plan.tasks.size() == 1;
  return {
      format("no process for {}: the job has {} process{} on {} of {} hosts; leave {} out, or "
             "start more processes",
             some_of(idle), plan.tasks.size(), one ? "" : "es", plan.host_count(),
             resolved.hosts.size() - resolved.spares, idle.size() == 1 ? "it" : "them")};
}

std::vector<std::string> shown_ranks_warnings(const std::vector<int>& shown, const Plan& plan) {
  int last = -1;
  for (const Task& task : plan.tasks) {
    if (std::ranges::count(shown, task.local_rank) > 0) return {};
    last = std::max(last, task.local_rank);
  }
  if (shown.empty()) return {};
  return {format("--local-ranks-filter: no output is shown, since {}",
                 last < 0 ? "no task of this job has a rank"
                          : format("the local ranks of this job are 0 to {}", last))};
}

Result<> check_targets(const RunConfig& config, const Plan& plan) {
  TRY(check_success(config.success, plan));
  TRY(check_programs_from_stdin(config, plan));
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

ResourceNeed resource_need(const RunConfig& config, const std::vector<Host>& hosts) {
  const PlacementOptions& placement = config.placement;
  if (!all_slots_known(hosts) || placement.report_bindings) return ResourceNeed::gpus;
  if (config.dry_run) return ResourceNeed::nothing;
  const bool by_gpus =
      placement.bind_to == BindTo::automatic || placement.bind_to == BindTo::near_gpu;
  if (placement.gpu_bind != GpuBind::none || by_gpus || needs_gpus(config.roles))
    return ResourceNeed::gpus;
  const bool cpus = placement.bind_to != BindTo::none || needs_cpus_or_memory(config.roles);
  return cpus ? ResourceNeed::cpus : ResourceNeed::nothing;
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

std::vector<std::string> own_device_warnings(const std::vector<Host>& hosts, const Environment& own,
                                             const Environment& forwarded) {
  const auto devices = own.find("CUDA_VISIBLE_DEVICES");
  const bool reaches = devices == own.end() || forwarded.contains(devices->first) ||
                       std::ranges::all_of(hosts, &Host::here);
  if (reaches) return {};
  return {
      format("CUDA_VISIBLE_DEVICES={} holds on this machine alone; -x CUDA_VISIBLE_DEVICES gives "
             "it to all hosts",
             printable(devices->second))};
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

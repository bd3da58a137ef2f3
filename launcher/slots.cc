#include "launcher/slots.h"

#include "base/format.h"
#include "base/socket.h"
#include "base/text.h"

#include <netdb.h>
#include <unistd.h>

#include <algorithm>

namespace dt {

namespace {

/// Every name and address by which a person may mean this machine.
std::vector<std::string> own_names() {
  std::vector<std::string> names = interface_addresses();
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string_view full = name;
  names.emplace_back(full);
  names.emplace_back(full.substr(0, full.find('.')));
  return names;
}

}  // namespace

Result<> check_counts(const RunConfig& config) {
  if (config.hosts.empty() || !all_slots_known(config.hosts)) return {};
  TRY(make_plan(plan_request(config, config.hosts, {})));
  return {};
}

Result<std::vector<Host>> local_hosts(const RunConfig& config) {
  if (config.hosts.empty()) {
    if (!config.process_count) {
      return fail(Errc::input, "how many processes? give -np N, or hosts with -H HOST:SLOTS,…");
    }
    return std::vector<Host>{
        {.name = "localhost", .user = {}, .slots = *config.process_count, .here = true}};
  }
  const std::vector<std::string> own = own_names();
  std::vector<Host> hosts;
  for (Host host : config.hosts) {
    host.here = is_local(host, own);
    const auto first = std::ranges::find(hosts, true, &Host::here);
    if (host.here && first != hosts.end()) {
      first->slots += host.slots;
    } else {
      hosts.push_back(std::move(host));
    }
  }
  return hosts;
}

Result<> check_stdin_target(const RunConfig& config, const Plan& plan) {
  const StdinTarget& target = config.stdin_target;
  if (target.kind != StdinTarget::Kind::rank || target.rank < plan.world_size) return {};
  return fail(Errc::input, format("--stdin {}: there are only {} ranks, 0 to {}", target.rank,
                                  plan.world_size, plan.world_size - 1));
}

bool all_slots_known(const std::vector<Host>& hosts) {
  return std::ranges::none_of(hosts, [](const Host& host) { return host.slots == 0; });
}

PlanRequest plan_request(const RunConfig& config, std::vector<Host> hosts,
                         const std::vector<Hello>& hellos) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].slots != 0) continue;
    hosts[i].slots = hellos[i].gpus > 0 ? hellos[i].gpus : hellos[i].allowed_cpus;
  }
  return {.hosts = std::move(hosts),
          .process_count = config.process_count,
          .oversubscribe = config.oversubscribe};
}

}  // namespace dt

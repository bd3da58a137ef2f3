#include "launcher/slots.h"

#include "base/format.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/host_merger.h"

#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>

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

/// "a, b, c", cut after a few.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t shown_max = 8;
  if (names.size() <= shown_max) return join(names, ", ");
  return format("{} and {} more", join(std::span(names).first(shown_max), ", "),
                names.size() - shown_max);
}

tl::unexpected<Error> not_here(const std::vector<std::string>& remote) {
  return fail(Errc::unreachable,
              format("{}: not this machine, and this version of dtrain starts processes on this "
                     "machine only (hosts over SSH are not there yet)",
                     some_of(remote)));
}

std::string one_machine(const std::vector<std::string>& names, const Host& host) {
  return format("{} are one machine; {}", some_of(names),
                host.slots == 0 ? "counted once" : format("merged to {} slots", host.slots));
}

}  // namespace

Result<> check_counts(const RunConfig& config) {
  if (config.hosts.empty() || !all_slots_known(config.hosts)) return {};
  TRY(make_plan(plan_request(config, config.hosts, {})));
  return {};
}

Result<HostList> local_hosts(const RunConfig& config) {
  if (config.hosts.empty()) {
    if (!config.process_count) {
      return fail(Errc::input, "how many processes? give -np N, or hosts with -H HOST:SLOTS,…");
    }
    return HostList{.hosts = {{.name = "localhost", .user = {}, .slots = *config.process_count}},
                    .warnings = {}};
  }
  const std::vector<std::string> own = own_names();
  std::vector<std::string> remote;
  std::vector<std::string> names;
  std::optional<Host> here;
  for (const Host& host : config.hosts) {
    if (!is_local(host, own)) {
      remote.push_back(host.user.empty() ? host.name : host.user + "@" + host.name);
      continue;
    }
    names.push_back(host.name);
    if (here) {
      TRY(merge_host(*here, host));
    } else {
      here = host;
    }
  }
  if (!remote.empty()) return not_here(remote);
  HostList list{.hosts = {*here}, .warnings = {}};
  if (names.size() > 1) list.warnings.push_back(one_machine(names, *here));
  return list;
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
    if (hosts[i].max_slots != 0) hosts[i].slots = std::min(hosts[i].slots, hosts[i].max_slots);
  }
  return {.hosts = std::move(hosts),
          .process_count = config.process_count,
          .oversubscribe = config.oversubscribe};
}

}  // namespace dt

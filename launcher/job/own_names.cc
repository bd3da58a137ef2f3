#include "launcher/job/own_names.h"

#include "base/host_name.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"
#include "rendezvous/cluster/cluster_spec.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace dt {
namespace {

std::string first_label(std::string_view name) {
  return lower_case(name.substr(0, name.find('.')));
}

/// Returns the names of hosts, not addresses, by which this machine may be meant.
std::vector<std::string> names_to_look_up(const RunConfig& config) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    const bool is_name =
        !host_name_fault(name) && name.find_first_not_of("0123456789.") < name.size();
    if (is_name && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Host& host : config.hosts) {
    if (host.user.empty()) add(host.name);
  }
  if (!config.external_cluster) return names;
  for (const auto& [role, addresses] : config.external_cluster->cluster.jobs) {
    for (const auto& [index, address] : addresses)
      add(split_address(address).host);
  }
  return names;
}

/// True when a name leads to this machine: to an address of it, or to 127.*, as Debian's own name.
bool leads_here(const std::string& name, const std::vector<std::string>& own,
                const NameLookUp& look_up) {
  const auto addresses = look_up(name);
  if (!addresses) return false;
  return std::ranges::any_of(*addresses, [&own](const std::string& address) {
    return is_loopback(address) || std::ranges::find(own, address) != own.end();
  });
}

}  // namespace

std::vector<std::string> own_names(const RunConfig& config, const NameLookUp& look_up) {
  if (config.hosts.empty() && !config.external_cluster) return {};
  std::vector<std::string> names;
  for (const InterfaceAddress& address : interface_addresses())
    names.push_back(address.ip);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const std::string_view full = name;
  names.emplace_back(full);
  names.emplace_back(full.substr(0, full.find('.')));
  const std::vector<std::string> own = names;
  const auto is_own = [&names](const std::string& given) {
    return is_local({.name = given}, names);
  };
  const std::vector<std::string> given = names_to_look_up(config);
  // A look-up can take seconds. So only names that begin as this machine's own are looked up.
  for (const std::string& other : given) {
    if (is_own(other) || first_label(other) != first_label(full)) continue;
    if (leads_here(other, own, look_up)) names.push_back(other);
  }
  // But a cluster from outside without a task here cannot start at all.
  if (!config.external_cluster || std::ranges::any_of(given, is_own)) return names;
  std::ranges::copy_if(given, std::back_inserter(names),
                       [&](const std::string& other) { return leads_here(other, own, look_up); });
  return names;
}

}  // namespace dt

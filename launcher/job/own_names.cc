#include "launcher/job/own_names.h"

#include "base/host_name.h"
#include "base/io/network.h"
#include "base/text.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/ssh/resolver.h"
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
  for (const std::vector<Host>* hosts : {&config.hosts, &config.restarts.spares}) {
    for (const Host& host : *hosts)
      if (host.user.empty()) add(host.name);
  }
  if (!config.external_cluster) return names;
  for (const auto& [role, addresses] : config.external_cluster->cluster.jobs) {
    for (const auto& [index, address] : addresses)
      add(split_address(address).host);
  }
  return names;
}

/// True when an address is that of this machine, or 127.*, as Debian's own name has.
bool leads_here(const std::vector<std::string>& addresses, const std::vector<std::string>& own) {
  return std::ranges::any_of(addresses, [&own](const std::string& address) {
    return is_loopback(address) || std::ranges::find(own, address) != own.end();
  });
}

/// True when the labels of one name begin the other: "job-launcher" and "job-launcher.job".
bool is_continued(std::string_view name, std::string_view other) {
  const std::string first = lower_case(name) + ".";
  const std::string second = lower_case(other) + ".";
  return first.starts_with(second) || second.starts_with(first);
}

}  // namespace

std::map<std::string, std::vector<std::string>> look_up_names(
    const std::vector<std::string>& names) {
  constexpr Duration patience = seconds(5);
  std::map<std::string, std::vector<std::string>> found;
  const auto answers = look_up_all(names, patience);
  for (size_t i = 0; answers && i < names.size(); ++i) {
    if (!(*answers)[i]) continue;
    for (const Address& address : *(*answers)[i])
      found[names[i]].push_back(address.ip);
  }
  return found;
}

std::vector<std::string> own_names(const RunConfig& config, const NameLookUp& look_up) {
  if (config.hosts.empty() && config.restarts.spares.empty() && !config.external_cluster) return {};
  std::vector<std::string> names;
  for (const InterfaceAddress& address : interface_addresses())
    names.push_back(address.ip);
  const std::string name = own_host_name();
  const std::string_view full = name;
  names.emplace_back(full);
  names.emplace_back(full.substr(0, full.find('.')));
  const std::vector<std::string> own = names;
  const auto is_own = [&names](const std::string& given) {
    return is_local({.name = given}, names);
  };
  const auto add_those_that_lead_here = [&](const std::vector<std::string>& asked) {
    if (asked.empty()) return;
    for (const auto& [other, addresses] : look_up(asked)) {
      if (leads_here(addresses, own)) names.push_back(other);
    }
  };
  const std::vector<std::string> given = names_to_look_up(config);
  if (config.hosts_are_pods) {
    std::ranges::copy_if(given, std::back_inserter(names),
                         [full](const std::string& other) { return is_continued(full, other); });
  }
  // A look-up can take seconds. So only names that begin as this machine's own are looked up.
  std::vector<std::string> likely;
  std::ranges::copy_if(given, std::back_inserter(likely), [&](const std::string& other) {
    return !is_own(other) && first_label(other) == first_label(full);
  });
  add_those_that_lead_here(likely);
  // But a cluster from outside without a task here cannot start at all, and a scheduler may have
  // given this machine under another name.
  const bool all_count = config.external_cluster || !config.allocation.empty();
  if (all_count && std::ranges::none_of(given, is_own)) add_those_that_lead_here(given);
  return names;
}

}  // namespace dt

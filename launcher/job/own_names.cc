#include "launcher/job/own_names.h"

#include "base/io/network.h"

#include <unistd.h>

#include <string_view>

namespace dt {

std::vector<std::string> own_names(const RunConfig& config) {
  if (config.hosts.empty() && !config.external_cluster) return {};
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

}  // namespace dt

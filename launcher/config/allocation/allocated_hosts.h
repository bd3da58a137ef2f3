#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// Collects the hosts of an allocation in the order of their first mention. Errors have the reason
/// only; the caller knows the place.
class AllocatedHosts {
 public:
  /// Adds one slot to the host, as for a line of a file that has a line for each slot.
  Result<> count(std::string_view name);
  /// Adds a host with its slots. `list` names the list that it stands in: slots of two lists add
  /// up, and one list may repeat a host only with the same slots.
  Result<> add(Host host, const std::string& list);

  bool empty() const { return hosts_.empty(); }
  std::vector<Host> finish() && { return std::move(hosts_); }

 private:
  using Mention = std::pair<std::string, std::string>;  ///< list, canonical name

  Result<Host*> find_or_add(std::string_view name);

  std::vector<Host> hosts_;
  std::map<std::string, size_t> by_name_;  ///< index by canonical name
  std::map<Mention, Host> mentions_;
};

}  // namespace dt

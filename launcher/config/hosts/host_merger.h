#pragma once

#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/hosts/source_location.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// Adds the slots of `host` to those of `into`, both of which name the same machine. Fails for two
/// descriptions that conflict, such as one with slots and one without.
Result<> merge_host(Host& into, const Host& host);
/// The same for two mentions in one list, as in the node files of schedulers. Either all mentions
/// of a host give slots, or each counts as one slot.
Result<> merge_mention(Host& into, Host host);

/// Collects hosts in the order of their first mention. Later mentions add their slots, with a
/// warning. Two or more mentions without slots count as one slot each.
class HostMerger {
 public:
  /// Errors name the place of `part`, the text of these hosts.
  Result<> add(HostList named, std::string_view part, const SourceLocation& place);
  /// `source` names the list in warnings.
  HostList finish(std::string_view source) &&;

 private:
  struct Entry {
    Host host;
    int mentions = 0;
  };

  std::vector<Entry> list_;
  size_t mentions_ = 0;                    ///< the number of all mentions
  std::map<std::string, size_t> by_name_;  ///< index by canonical name
  std::vector<std::string> warnings_;
};

}  // namespace dt

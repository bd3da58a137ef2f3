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

/// Adds the slots of `host` to those of `into`, a host of the same machine: slots are given for
/// both or for none. The error says why two descriptions of one machine do not go together.
Result<> merge_host(Host& into, const Host& host);
/// The same for another mention in one list, as in the node files of schedulers: each mention
/// without slots is one slot, and all or none of them give slots.
Result<> merge_mention(Host& into, Host host);

/// Gathers hosts in the order of their first mention; slots of later mentions are added, with a
/// warning. Mentions without slots are one slot each as soon as there are two.
class HostMerger {
 public:
  /// The error names the place of `part`, in which the hosts stood.
  Result<> add(HostList named, std::string_view part, const SourceLocation& place);
  /// `source` names the whole in warnings.
  HostList finish(std::string_view source) &&;

 private:
  struct Entry {
    Host host;
    int mentions = 0;
  };

  std::vector<Entry> list_;
  size_t mentions_ = 0;                    ///< of all hosts
  std::map<std::string, size_t> by_name_;  ///< canonical
  std::vector<std::string> warnings_;
};

}  // namespace dt

#pragma once

#include "launcher/check/finding.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_group.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// What `dtrain check` has seen of a host.
struct HostSeen {
  Host host;
  std::string unreachable = {};  ///< why no agent runs there; empty: one does
  Connection connection = {};
  std::string silent = {};  ///< why the agent did not tell of its host
  std::optional<Diagnosis> diagnosis = {};
  std::vector<std::string> launcher_at = {};  ///< this machine's addresses, which it dialled
  /// Of these those that it reaches, best first; none: it was not asked.
  std::optional<std::vector<std::string>> reaches_launcher = {};
  std::vector<std::string> reached_at = {};  ///< those of its addresses that led other hosts to it
};

/// What most hosts have, which the others should have, too; the first of several that are as
/// frequent.
struct Usual {
  std::string dtrain;
  std::string python;  ///< "3.11"
  std::string driver;
  size_t gpus = 0;
  bool operator==(const Usual&) const = default;
};
Usual usual_of(const std::vector<HostSeen>& hosts);

/// One finding a topic, always in the same order; those that are not known are left out.
std::vector<Finding> host_findings(const HostSeen& seen, const Usual& usual);

}  // namespace dt

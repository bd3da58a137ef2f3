#pragma once

#include "launcher/check/finding.h"
#include "launcher/check/program_findings.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/connect/agent_group.h"

#include <optional>
#include <string>
#include <vector>

namespace dt {

/// All that `dtrain check` knows about a host.
struct HostSeen {
  Host host;
  std::string unreachable = {};  ///< why no agent runs there; empty: one does
  Connection connection = {};
  std::string silent = {};  ///< why the agent sent no answer; empty: it did
  std::optional<Diagnosis> diagnosis = {};
  std::vector<std::string> launcher_at =
      {};  ///< the addresses of this machine that the host dialed
  /// The addresses in launcher_at that the host reached, best first; none: it was not asked.
  std::optional<std::vector<std::string>> reaches_launcher = {};
  std::vector<std::string> reached_at = {};  ///< its addresses that other hosts reached
};

/// The most frequent values among the hosts, which all hosts should have. Among equally frequent
/// values the first one counts.
struct Usual {
  std::string dtrain;
  std::string driver;
  size_t gpus = 0;
  CommonPrograms programs;
  bool operator==(const Usual&) const = default;
};
Usual usual_of(const std::vector<HostSeen>& hosts);

/// One finding a topic, always in the same order. Unknown topics are left out.
std::vector<Finding> host_findings(const HostSeen& seen, const Usual& usual);

}  // namespace dt

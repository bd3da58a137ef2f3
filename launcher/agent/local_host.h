#pragma once

#include "launcher/environment/environment.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

/// Where an agent runs, as seen from its launcher.
enum class AgentLocation { launchers_host, other_host };

/// Where an agent runs, and whether a scheduler sends its signals to the agent and its tasks alike.
struct AgentPlace {
  AgentLocation location = AgentLocation::other_host;
  bool scheduled = false;
};

/// Returns an agent's hello. It has the host's addresses only for another host than the launcher's.
/// The kernel takes longer to list them than all the rest takes.
Hello make_hello(AgentLocation location);

/// Returns how many CPUs this process may use: by its affinity mask and the quotas of its cgroups.
int count_allowed_cpus();

/// Returns the variables of this process: NAME=value.
std::vector<std::string> own_environment();

/// Returns the variables of this process that its tasks inherit, without those that match a pattern
/// of `excluded`.
Environment local_host_environment(const std::vector<std::string>& excluded = {});

/// Returns the facts that a host adds to its tasks' environment, without excluded variables. With
/// `own_variables`, these have all variables of this process that a launcher would forward.
HostFacts own_host_facts(const std::vector<std::string>& excluded, bool own_variables = false);

}  // namespace dt

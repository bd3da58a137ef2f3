#pragma once

#include "launcher/environment/environment.h"
#include "launcher/protocol/message.h"

#include <string>
#include <vector>

namespace dt {

/// Where an agent runs, as seen from its launcher.
enum class AgentLocation { launchers_host, other_host };

/// What an agent says of the host that it runs on. Its addresses only where the launcher does not
/// know them: asking the kernel takes longer than all the rest.
Hello make_hello(AgentLocation place);

/// How many CPUs this process may use.
int count_allowed_cpus();

/// The variables of this process: NAME=value.
std::vector<std::string> own_environment();

/// The variables of this process that tasks get as they are on this host, but for what fits a
/// pattern of `excluded`.
Environment local_host_environment(const std::vector<std::string>& excluded = {});

/// What a host adds to its tasks' environment, without the variables that are excluded.
HostFacts own_host_facts(const std::vector<std::string>& excluded);

}  // namespace dt

#pragma once

#include "launcher/environment.h"
#include "launcher/message.h"

#include <string>
#include <vector>

namespace dt {

/// What an agent says of the host that it runs on.
Hello make_hello();

/// The variables of this process that tasks get as they are on this host.
Environment own_host_part();

/// What a host adds to its tasks' environment, without the variables that are excluded.
HostFacts own_host_facts(const std::vector<std::string>& excluded);

}  // namespace dt

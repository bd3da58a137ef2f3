#pragma once

#include "launcher/environment.h"
#include "launcher/message.h"

namespace dt {

/// What an agent says of the host that it runs on.
Hello make_hello();

/// The host's own part of its tasks' environment.
HostFacts own_host_facts();

}  // namespace dt

#pragma once

#include "launcher/check/finding.h"
#include "launcher/check/host_findings.h"

#include <vector>

namespace dt {

/// What tasks will have of a host's devices, memory, limits and disks. `slots`: how many tasks are
/// meant for it; 0: not said.
std::vector<Finding> resource_findings(const HostDiagnostics& host, int slots, const Usual& usual);

}  // namespace dt

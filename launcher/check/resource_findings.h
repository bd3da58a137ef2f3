#pragma once

#include "launcher/check/finding.h"
#include "launcher/check/host_findings.h"

#include <vector>

namespace dt {

/// The devices, memory, limits and disks that a host has for tasks. `slots`: the number of tasks
/// that the host is to run; 0: unknown.
std::vector<Finding> resource_findings(const HostDiagnostics& host, int slots, const Usual& usual);

}  // namespace dt

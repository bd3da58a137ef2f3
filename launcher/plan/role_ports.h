#pragma once

#include "base/result.h"
#include "launcher/plan/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Returns the port that its role gives the task; none: any free one.
std::optional<uint16_t> fixed_port(const Plan& plan, const Task& task);

/// Returns "host:port" of each task on the host whose role gives it a port.
std::vector<std::string> fixed_addresses(const Plan& plan, const PlannedHost& host);

/// Fails with Errc::input for a role whose number of ports is neither 1 nor that of its tasks, and
/// for two tasks of a host with one port.
Result<> check_ports(const Plan& plan);

}  // namespace dt

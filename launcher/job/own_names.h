#pragma once

#include "base/io/network.h"
#include "base/result.h"
#include "launcher/config/config.h"

#include <functional>
#include <string>
#include <vector>

namespace dt {

using NameLookUp = std::function<Result<std::vector<std::string>>(const std::string& name)>;

/// Asks the kernel for every name and address by which the user may name this machine, and the
/// resolver for names that begin like its own. If a cluster from outside has no known name, all its
/// names are looked up. Returns none if the user named no host: the answer would only delay the
/// start.
std::vector<std::string> own_names(const RunConfig& config,
                                   const NameLookUp& look_up = look_up_addresses);

}  // namespace dt

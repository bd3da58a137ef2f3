#pragma once

#include "launcher/config/config.h"

#include <string>
#include <vector>

namespace dt {

/// Asks the kernel for every name and address by which the user may name this machine. Returns none
/// if the user named no host: the answer would only delay the start.
std::vector<std::string> own_names(const RunConfig& config);

}  // namespace dt

#pragma once

#include "launcher/config/option_source.h"

#include <string>
#include <vector>

namespace dt {

/// The options of a file that nobody has named that choose the hosts of the job, or the places that
/// it reads from and writes to, in the order of the option table. Options that another source
/// overrides do not count.
std::vector<std::string> found_destinations(const OptionSources& by_precedence);

}  // namespace dt

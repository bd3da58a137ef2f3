#pragma once

#include "launcher/config/files/config_show.h"

#include <vector>

namespace dt {

/// Returns the options that choose the job's hosts, or the files and folders that it reads or
/// writes. Only those count that come from a file that the user did not name, and that no other
/// source overrides. They are in the order of the option table.
std::vector<DecidedOption> found_destinations(const OptionSources& by_precedence);

}  // namespace dt

#pragma once

#include "base/clock.h"

#include <string>
#include <vector>

namespace dt {

/// --setup: commands that run once on each host before any task starts.
struct SetupOptions {
  std::vector<std::string> commands;  ///< each a shell's line, in the order given; never empty
  Duration timeout = seconds(600);    ///< --setup-timeout, for all commands of a host together
  bool once = false;                  ///< --setup-once
  bool operator==(const SetupOptions&) const = default;
};

}  // namespace dt

#pragma once

#include "launcher/config/config.h"
#include "launcher/environment/environment.h"

#include <string>
#include <vector>

namespace dt {

/// The options of `dtrain check` itself.
struct CheckOptions {
  bool json = false;
  std::vector<std::string> command = {};  ///< of the job; empty: none
  std::vector<std::string> imports = {};  ///< Python modules
  bool operator==(const CheckOptions&) const = default;
};

/// `dtrain check`: diagnoses the hosts of a job without running it, and prints a table, or one JSON
/// document with options.json. Returns the exit status: 0, also with warnings; 1 after a failure; 2
/// for wrong input; 128+n after signal n.
int check(const RunConfig& config, const CheckOptions& options, const Environment& environment);

}  // namespace dt

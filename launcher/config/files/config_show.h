#pragma once

#include "base/json.h"
#include "launcher/config/config.h"
#include "launcher/config/option.h"

#include <string>
#include <vector>

namespace dt {

/// An option with the values that count, and where they were written.
struct DecidedOption {
  const Option* option = nullptr;
  std::vector<std::string> values;
  std::string origin;  ///< "-np", "DTRAIN_OPT_NP", "dtrain.toml:3:1", "default"
  bool found = false;  ///< in a file that nobody has named, OptionSource::found
};

/// What the sources decide, in the order of the option table, without checking values;
/// `with_defaults` also what stands where none says anything.
std::vector<DecidedOption> decided_options(const OptionSources& by_precedence, bool with_defaults);

/// A dtrain.toml that decides the same, with each origin in a comment if that is wanted.
std::string decided_toml(const std::vector<DecidedOption>& decided, bool with_origins);
/// {"np": {"value": 4, "origin": "-np"}, …}
Json decided_json(const std::vector<DecidedOption>& decided);

}  // namespace dt

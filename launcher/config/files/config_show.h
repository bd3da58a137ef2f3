#pragma once

#include "base/json.h"
#include "launcher/config/config.h"
#include "launcher/config/tables/option.h"

#include <string>
#include <vector>

namespace dt {

/// An option with the values that win, and their place.
struct DecidedOption {
  const Option* option = nullptr;
  std::vector<std::string> values;
  std::string origin;                     ///< "-np", "DTRAIN_OPT_NP", "dtrain.toml:3:1", "default"
  bool found = false;                     ///< OptionSource::found
  std::vector<std::string> origins = {};  ///< of each value, if they come from several sources
};

/// Returns the options that the sources set, in the order of the option table, without checking
/// values. `with_defaults` adds the other options that have a default.
std::vector<DecidedOption> decided_options(const OptionSources& by_precedence, bool with_defaults);

/// Returns a dtrain.toml that decides the same; `with_origins` adds each origin as a comment.
std::string decided_toml(const std::vector<DecidedOption>& decided, bool with_origins);
/// Returns {"np": {"value": 4, "origin": "-np"}, …}.
Json decided_json(const std::vector<DecidedOption>& decided);

}  // namespace dt

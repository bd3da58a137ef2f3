#pragma once

#include "base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One option's values as written, in the order given; the option's long name without dashes.
using OptionValues = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Where an option's value came from, in words for errors: "-np", "DTRAIN_OPT_NP",
/// "dtrain.toml:3:1: np".
struct OptionSource {
  OptionValues values;
  std::map<std::string, std::string, std::less<>> origins;  ///< by long name
  /// It merely lay in the current folder, where somebody else may have put it.
  bool found = false;
  bool operator==(const OptionSource&) const = default;
};

/// In the order of precedence: flags, environment, file.
using OptionSources = std::vector<OptionSource>;

/// The options of a TOML text (top-level keys are long names), each with its file:line:column.
Result<OptionSource> read_toml_options(std::string_view text, std::string_view path);
/// The options in an environment: DTRAIN_OPT_START_TIMEOUT=30s and so on. An empty variable is not
/// given; a list is split at blanks.
Result<OptionSource> read_environment_options(const std::vector<std::string>& environment);

}  // namespace dt

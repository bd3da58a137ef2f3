#pragma once

#include "base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The values of options as written, in the order given, by the option's long name without dashes.
using OptionValues = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The options of one source. Their origins are for errors: "-np", "DTRAIN_OPT_NP",
/// "dtrain.toml:3:1: np".
struct OptionSource {
  OptionValues values;
  std::map<std::string, std::string, std::less<>> origins;  ///< by long name
  /// True for a file in the current folder that the user did not name. Another user may have put it
  /// there.
  bool found = false;
  bool operator==(const OptionSource&) const = default;
};

/// Sources in the order of precedence: flags, environment, file.
using OptionSources = std::vector<OptionSource>;

/// Reads the options of a TOML text (top-level keys are long names), each with its
/// file:line:column.
Result<OptionSource> read_toml_options(std::string_view text, std::string_view path);
/// Reads the options of an environment: DTRAIN_OPT_START_TIMEOUT=30s and so on. It ignores empty
/// variables, and splits lists at blanks, lines at their ends.
Result<OptionSource> read_environment_options(const std::vector<std::string>& environment);

}  // namespace dt

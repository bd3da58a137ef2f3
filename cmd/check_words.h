#pragma once

#include "base/result.h"
#include "launcher/check/check.h"
#include "launcher/config/option_source.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace dt {

/// An option that only `dtrain check` has.
struct CheckOption {
  std::string_view spelling;
  std::string_view placeholder;  ///< empty: a flag
  std::string_view help;
};
inline constexpr std::array check_own_options = {
    CheckOption{"--import", "MODULES",
                "Import these modules of Python on each host, such as torch,numpy, and compare "
                "their versions. May be given again."},
    CheckOption{"--json", "", "Print one JSON document; man dtrain-check describes it."}};

/// The words behind `dtrain check`.
struct CheckWords {
  bool help = false;   ///< --help was typed, and the rest is empty
  OptionSource flags;  ///< options of run, as typed
  CheckOptions check;
};

/// Reads the options and, behind `--`, the job's command. Fails with Errc::input.
Result<CheckWords> read_check_words(std::span<const std::string> words);

}  // namespace dt

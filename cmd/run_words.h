#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/option.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The words behind `dtrain run`.
struct RunWords {
  OptionSource flags;                ///< options as typed
  std::vector<std::string> command;  ///< the workers'
  /// The first option that only prints something (--help); nothing behind it was read.
  const Option* prints = nullptr;
  std::vector<std::string> own;  ///< flags of the command that takes run's words beside its own
};

/// A command that takes run's options, or some of them, beside flags of its own.
struct Dialect {
  std::string_view command = "run";
  std::span<const std::string_view> own_flags = {};  ///< stand wherever an option may stand
  bool (*takes)(const Option& option) = nullptr;     ///< null: all of them
};

/// Reads options up to the first word that is none, or to `--`: from there on all is the command.
Result<RunWords> read_run_words(std::span<const std::string> words, const Dialect& dialect = {});

/// Whether the word is an option of `dtrain run`, with or without a value in it.
bool is_run_option(std::string_view word);

}  // namespace dt

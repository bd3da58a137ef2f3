#pragma once

#include "base/result.h"
#include "launcher/config/config.h"
#include "launcher/config/tables/option.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dt {

/// The words behind `dtrain run`.
struct RunArguments {
  OptionSource flags;                ///< options as typed
  std::vector<std::string> command;  ///< the workers'
  bool literal = false;              ///< "--" stands before the command
  /// The first option that only prints (--help); the words behind it were not read.
  const Option* prints = nullptr;
  bool prints_short = false;                                    ///< it is -h
  std::vector<std::string> own;                                 ///< the flags in Dialect::own_flags
  std::vector<std::pair<std::string, std::string>> own_values;  ///< those in Dialect::own_options
};

/// A spelling of an option with a value that only one command has.
struct OwnOption {
  std::string_view spelling;
  std::string_view placeholder;
};

/// A command that takes all or some of run's options, and its own flags.
struct Dialect {
  std::string_view command = "run";
  std::span<const std::string_view> own_flags = {};  ///< allowed wherever an option is
  bool (*takes)(const Option& option) = nullptr;     ///< null: all of them
  std::span<const OwnOption> own_options = {};       ///< win over options of run
};

/// Reads options up to the first other word, or to `--`. All words from there on are the command.
Result<RunArguments> read_run_arguments(std::span<const std::string> words,
                                        const Dialect& dialect = {});

/// Returns the options up to the first word that read_run_arguments refuses.
OptionSource readable_options(std::span<const std::string> words);

/// True for an option of `dtrain run`, with or without a value in the same word.
bool is_run_option(std::string_view word);

}  // namespace dt

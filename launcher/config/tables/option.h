#pragma once

#include <cstdint>
#include <string_view>

namespace dt {

enum class OptionKind : uint8_t {
  flag,
  text,
  integer,
  number,  ///< 0 or more, with an optional fraction
  duration,
  list,   ///< may be repeated; each value is added
  lines,  ///< as list, but a value may have blanks: a variable has one in each of its lines
};

enum class OptionGroup : uint8_t {
  hosts,
  workers,
  code,  ///< the tree of files that goes to the hosts, and their setup
  faults,
  output,
  itself,
  torchrun,
  horovod
};

/// The effect of an option when it is given.
enum class Effect : uint8_t {
  decides,  ///< it sets a part of RunConfig
  prints,   ///< it prints and starts nothing: --help, --version
  agrees,   ///< no effect: dtrain always does that
  exports,  ///< its value becomes a variable of the workers, for their library
  refuses,  ///< dtrain cannot do it: `refusal` is the error
};

/// The format of the variable that an exporting option sets, and its valid values.
enum class ExportForm : uint8_t {
  as_written,
  fraction,   ///< as written, 0 to 1
  log_level,  ///< TRACE to FATAL, in capitals
  mib_as_bytes,
  one_or_zero,  ///< for flags: 1 for true
  zero_or_one,  ///< the reverse, for a variable that turns off the flag's feature
  one_or_none,  ///< no variable for false
};

/// One option of `dtrain run`, for the command line, TOML files, DTRAIN_OPT_* variables, help, man
/// pages and completions.
struct Option {
  std::string_view name;  ///< the key in a file
  /// The spellings on the command line, the usual one first. A flag's spelling --no-… means false,
  /// unless the option's own name begins so.
  std::string_view spellings;
  OptionKind kind = OptionKind::text;
  /// The placeholder of the value; empty for flags. Capitals stand for any value (FILE, DIR, HOSTS,
  /// TIME, N, …). Words in small letters between | are literal values: "none|RANK|all". Each word
  /// stands for one argument: "MIN MAX" takes two.
  std::string_view placeholder;
  OptionGroup group = OptionGroup::itself;
  std::string_view help;
  bool in_files = true;
  Effect effect = Effect::decides;
  /// The error text of an option that dtrain refuses.
  std::string_view refusal = {};
  /// True when its value can start programs, write files, or send the user's files to other
  /// machines. Such an option is not accepted from a file that the user did not name. Another user
  /// may have put it into the current folder.
  bool trusted_only = false;
  /// Format and name of the variable that an exporting option sets.
  ExportForm form = ExportForm::as_written;
  std::string_view variable = {};
};

}  // namespace dt

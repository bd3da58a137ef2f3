#pragma once

#include <cstdint>
#include <string_view>

namespace dt {

enum class OptionKind : uint8_t {
  flag,
  text,
  integer,
  number,  ///< from 0, a point allowed
  duration,
  list,  ///< may be given again; each adds to it
};

enum class OptionGroup : uint8_t { hosts, workers, faults, output, itself, horovod };

/// What an option leads to when it is given.
enum class Effect : uint8_t {
  decides,  ///< it is a part of RunConfig
  prints,   ///< something is printed and nothing started: --help, --version
  agrees,   ///< what it asks for is so anyway
  exports,  ///< its value is a variable of the workers, for their library to read
  refuses,  ///< without it the job would be another one: its answer is the error
};

/// How the value of an option that exports stands in its variable, and what it must be.
enum class ExportForm : uint8_t {
  as_written,
  fraction,   ///< as written, 0 to 1
  log_level,  ///< TRACE to FATAL, in capitals
  mib_as_bytes,
  one_or_zero,  ///< of a flag: 1 for true
  zero_or_one,  ///< the reverse, where the variable turns off what the flag turns on
  one_or_none,  ///< nothing for false
};

/// One option of `dtrain run`, for the command line, TOML files, DTRAIN_OPT_* variables, help, man
/// pages and completions.
struct Option {
  std::string_view name;  ///< the key in a file
  /// On the command line, the usual one first. A flag's spelling --no-… says false, unless the
  /// option's own name begins so.
  std::string_view spellings;
  OptionKind kind = OptionKind::text;
  /// Of the value; empty for flags. Capitals stand for something to fill in (FILE, DIR, HOSTS,
  /// TIME, N, …), small words between | are values as they are written: "none|RANK|all". Each word
  /// stands for a word on the command line: "MIN MAX" takes two.
  std::string_view placeholder;
  OptionGroup group = OptionGroup::itself;
  std::string_view help;
  bool in_files = true;
  Effect effect = Effect::decides;
  std::string_view answer = {};  ///< what those that refuse say
  /// Its value can make programs run: not taken from a file that merely lies in the current folder,
  /// where somebody else may have put it.
  bool trusted_only = false;
  /// Of an option that exports.
  ExportForm form = ExportForm::as_written;
  std::string_view variable = {};
};

}  // namespace dt

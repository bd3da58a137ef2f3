#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "launcher/config/hosts/hosts.h"
#include "launcher/config/option_source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// An option as the source that wins gave it. Every error of a getter begins with the place where
/// the value was written.
struct OptionValue {
  std::string_view name;                             ///< the option's long one
  const std::vector<std::string>* values = nullptr;  ///< not empty
  std::string origin;
  bool found = false;  ///< in a file that nobody has named, OptionSource::found

  /// Of an option that has one value: the last one written.
  const std::string& value() const { return values->back(); }
  /// "ORIGIN: expected WHAT, got VALUE".
  tl::unexpected<Error> expected(std::string_view what) const;
  tl::unexpected<Error> refuse(std::string_view why) const;

  /// Not empty and without NUL bytes; `what` names it in the error: "a file".
  Result<std::string> text(std::string_view what) const;
  /// true, 1, yes, on or their opposites.
  Result<bool> flag() const;
  Result<int64_t> integer(int64_t min, int64_t max) const;
  /// From 0, a point allowed.
  Result<double> number() const;
  Result<Duration> duration() const;
  Result<Duration> positive_duration() const;
  /// "ORIGIN: expected A, B or C, got "D"", with a guess at which was meant.
  tl::unexpected<Error> unknown_word(std::string_view word,
                                     const std::vector<std::string_view>& choices) const;
  /// One of the words that the option's row names.
  Result<std::string> choice() const;
  /// The text of this file, which is among the values.
  Result<std::string> text_of(const std::string& path, const TextReader& read_text) const;
};

/// The option in this source, if it stands there.
std::optional<OptionValue> find_in(const OptionSource& source, std::string_view name);
/// The option in the first source that has it.
std::optional<OptionValue> find_option(const OptionSources& by_precedence, std::string_view name);

}  // namespace dt

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

/// An option's values from the source that wins. Each error of a getter begins with the place of
/// the value.
struct OptionValue {
  std::string_view name;                             ///< the option's long name
  const std::vector<std::string>* values = nullptr;  ///< not empty
  std::string origin;
  bool found = false;  ///< OptionSource::found

  /// Returns the last value written: the value of an option that has only one.
  const std::string& value() const { return values->back(); }
  /// Returns the error "ORIGIN: expected WHAT, got VALUE".
  tl::unexpected<Error> expected(std::string_view what) const;
  tl::unexpected<Error> refuse(std::string_view why) const;

  /// Fails for an empty value and for NUL bytes; `what` names the value in the error: "a file".
  Result<std::string> text(std::string_view what) const;
  /// Parses true, 1, yes, on or their opposites.
  Result<bool> flag() const;
  Result<int64_t> integer(int64_t min, int64_t max) const;
  /// Parses a number from 0, with an optional fraction.
  Result<double> number() const;
  Result<Duration> duration() const;
  Result<Duration> positive_duration() const;
  /// Returns the error "ORIGIN: expected A, B or C, got "D"", with the nearest choice as a guess.
  tl::unexpected<Error> unknown_word(std::string_view word,
                                     const std::vector<std::string_view>& choices) const;
  /// Returns the value, which must be one of choices_of its option.
  Result<std::string> choice() const;
  /// Reads this file, which is one of the values.
  Result<std::string> text_of(const std::string& path, const TextReader& read_text) const;
};

/// Finds the option in this source.
std::optional<OptionValue> find_in(const OptionSource& source, std::string_view name);
/// Finds the option in the first source that has it.
std::optional<OptionValue> find_option(const OptionSources& by_precedence, std::string_view name);
/// Finds the option in all sources, the last one first: for lists whose values add up.
std::vector<OptionValue> find_all(const OptionSources& by_precedence, std::string_view name);

}  // namespace dt

#include "launcher/config/option_value.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/config/options.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <system_error>

namespace dt {

tl::unexpected<Error> OptionValue::expected(std::string_view what) const {
  const std::string& text = value();
  // A number is shown bare, any other text in quotes.
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  const std::string got = digits ? printable(text) : format("\"{}\"", printable(text));
  return refuse(format("expected {}, got {}", what, got));
}

tl::unexpected<Error> OptionValue::refuse(std::string_view why) const {
  return fail(Errc::input, format("{}: {}", origin, why));
}

Result<std::string> OptionValue::text(std::string_view what) const {
  if (value().empty() || value().find('\0') != std::string::npos) return expected(what);
  return value();
}

Result<bool> OptionValue::flag() const {
  constexpr std::string_view yes[] = {"true", "1", "yes", "on"};
  constexpr std::string_view no[] = {"false", "0", "no", "off"};
  if (std::ranges::find(yes, value()) != std::end(yes)) return true;
  if (std::ranges::find(no, value()) != std::end(no)) return false;
  return expected("true or false");
}

Result<int64_t> OptionValue::integer(int64_t min, int64_t max) const {
  const std::optional<int64_t> read = parse_integer(value());
  if (read && *read >= min && *read <= max) return *read;
  return expected(format("{}..{}", min, max));
}

Result<double> OptionValue::number() const {
  double read = 0;
  const char* end = value().data() + value().size();
  const auto [stopped, error] = std::from_chars(value().data(), end, read);
  if (error == std::errc() && stopped == end && std::isfinite(read) && read >= 0) return read;
  return expected("a number from 0");
}

Result<Duration> OptionValue::duration() const {
  const Result<Duration> read = parse_duration(value());
  if (!read) return refuse(read.error().message);
  return *read;
}

Result<Duration> OptionValue::positive_duration() const {
  const Duration read = TRY(duration());
  if (read == Duration::zero()) return expected("a time longer than 0");
  return read;
}

Result<std::string> OptionValue::choice() const {
  const Option* option = find_option(name);
  assert(option != nullptr);
  const std::vector<std::string_view> choices = choices_of(*option);
  if (std::ranges::find(choices, value()) != choices.end()) return value();
  return unknown_word(value(), choices);
}

tl::unexpected<Error> OptionValue::unknown_word(
    std::string_view word, const std::vector<std::string_view>& choices) const {
  std::string words;
  for (const std::string_view choice : choices) {
    const bool last = choice == choices.back();
    words += words.empty() ? "" : last ? " or " : ", ";
    words += choice;
  }
  const std::optional<std::string> guess =
      nearest(word, std::vector<std::string>(choices.begin(), choices.end()));
  return refuse(format("expected {}, got \"{}\"{}", words, printable(word),
                       guess ? format("; did you mean {}?", *guess) : ""));
}

Result<std::string> OptionValue::text_of(const std::string& path,
                                         const TextReader& read_text) const {
  if (path.empty() || path.find('\0') != std::string::npos) return expected("a file");
  Result<std::string> text = read_text(path);
  if (text) return text;
  return refuse(format("cannot read \"{}\": {}", printable(path), text.error().message));
}

std::optional<OptionValue> find_in(const OptionSource& source, std::string_view name) {
  const auto found = source.values.find(name);
  if (found == source.values.end() || found->second.empty()) return std::nullopt;
  const auto origin = source.origins.find(name);
  return OptionValue{.name = name,
                     .values = &found->second,
                     .origin = origin == source.origins.end() ? std::string(name) : origin->second,
                     .found = source.found};
}

std::optional<OptionValue> find_option(const OptionSources& by_precedence, std::string_view name) {
  for (const OptionSource& source : by_precedence) {
    if (auto given = find_in(source, name)) return given;
  }
  return std::nullopt;
}

std::vector<OptionValue> find_all(const OptionSources& by_precedence, std::string_view name) {
  std::vector<OptionValue> all;
  for (auto source = by_precedence.rbegin(); source != by_precedence.rend(); ++source) {
    if (auto given = find_in(*source, name)) all.push_back(*std::move(given));
  }
  return all;
}

}  // namespace dt

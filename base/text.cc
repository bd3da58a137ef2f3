#include "base/text.h"

#include "base/format.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

namespace dt {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  while (true) {
    const size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return words;
    text.remove_prefix(first);
    const size_t end = std::min(text.find_first_of(blanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return all;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string all;
  for (const std::string& part : parts) {
    if (&part != parts.data()) all += separator;
    all += part;
  }
  return all;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view units = "KMG";
  int shift = 0;
  if (!text.empty()) {
    const char last = text.back();
    const char capital = last >= 'a' && last <= 'z' ? static_cast<char>(last - 'a' + 'A') : last;
    const size_t unit = units.find(capital);
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<int64_t> number = parse_integer(text);
  if (!number || *number < 0 || *number > (INT64_MAX >> shift)) return std::nullopt;
  return static_cast<uint64_t>(*number) << shift;
}

namespace {

/// Reads the number at the front of `text`, and removes it. None for other texts.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(value) || std::signbit(value)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return value;
}

/// Reads "1h30m", "1.5s" or "10", whose units become smaller.
std::optional<double> seconds_by_units(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  // "ms" comes before "m", of which it would be the beginning.
  constexpr Unit units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  double total = 0;
  double last = std::numeric_limits<double>::infinity();
  while (!text.empty()) {
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    if (text.empty()) return std::isinf(last) ? value : std::nullopt;
    const auto* const unit =
        std::ranges::find_if(units, [text](const Unit& one) { return text.starts_with(one.name); });
    if (unit == std::end(units) || unit->seconds >= last) return std::nullopt;
    text.remove_prefix(unit->name.size());
    last = unit->seconds;
    total += *value * last;
  }
  return std::isinf(last) ? std::nullopt : std::optional(total);
}

/// Reads "00:05:00", as schedulers write hours, minutes and seconds.
std::optional<double> seconds_by_colons(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  double total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_integer(parts[i]);
    const bool plain = parts[i].find_first_not_of("0123456789") == std::string_view::npos;
    const bool fits = i == 0 || (parts[i].size() == 2 && parts[i] < "60");
    if (!number || !plain || !fits) return std::nullopt;
    total = total * 60 + static_cast<double>(*number);
  }
  return total;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const bool colons = text.find(':') != std::string_view::npos;
  const std::optional<double> value = colons ? seconds_by_colons(text) : seconds_by_units(text);
  if (value && *value <= 1e8) return Duration(static_cast<int64_t>(std::llround(*value * 1e9)));
  return fail(Errc::input, format("expected a duration such as 10, 10s, 500ms, 2m, 1h30m or "
                                  "00:05:00, got '{}'",
                                  printable(text)));
}

std::string duration_text(Duration duration) {
  const int64_t ms = duration_cast<milliseconds>(duration).count();
  if (ms % 1000 != 0) return format("{}ms", ms);
  const int64_t s = ms / 1000;
  if (s != 0 && s % 3600 == 0) return format("{}h", s / 3600);
  if (s != 0 && s % 60 == 0) return format("{}m", s / 60);
  return format("{}s", s);
}

namespace {

/// True for U+202A to U+202E and U+2066 to U+2069, which change the direction of displayed text.
bool turns_text(std::string_view text) {
  if (!text.starts_with("\xE2\x80") && !text.starts_with("\xE2\x81")) return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return text[1] == '\x80' ? last >= 0xAA && last <= 0xAE : last >= 0xA6 && last <= 0xA9;
}

}  // namespace

size_t printable_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return std::isprint(lead) ? 1 : 0;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool c1_control = lead == 0xC2 && second < 0xA0;
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool past_unicode = lead == 0xF4 && second >= 0x90;
  return c1_control || overlong || surrogate || past_unicode || turns_text(text) ? 0 : length;
}

size_t unfinished_character(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 1;
    return length > back && byte <= 0xF4 ? back : 0;
  }
  return 0;
}

std::string printable(std::string_view text, size_t bytes_max) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= bytes_max) return shown + "…";
    const size_t length = printable_length(text);
    if (length == 0) {
      shown += format("\\x{:02X}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    } else {
      shown += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return shown;
}

std::string shell_quote(std::string_view text) {
  constexpr std::string_view safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!text.empty() && text.find_first_not_of(safe) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

namespace {

/// Optimal string alignment distance: insert, delete, replace and swap of neighbours cost one each.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j)
    d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  size_t best_distance = 3;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance * 2 < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace dt

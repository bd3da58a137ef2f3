#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

std::vector<std::string_view> split(std::string_view text, char separator);
/// Splits at runs of blanks and tabs; no empty pieces.
std::vector<std::string_view> split_words(std::string_view text);
std::string_view trim(std::string_view text);
/// Turns ASCII letters to lower case in every locale.
std::string lower_case(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// Reads a whole decimal number. Returns none for a plus sign, blanks, other characters or
/// overflow.
std::optional<int64_t> parse_integer(std::string_view text);
/// Reads a number of bytes: "8", "64K", "256M" or "1G", with units of 1024.
std::optional<uint64_t> parse_size(std::string_view text);
/// Reads a duration, such as "10", "10s", "1.5s", "500ms", "2m", "1h30m", "1d", "00:05:00". A
/// number without a unit is seconds. Never negative.
Result<Duration> parse_duration(std::string_view text);
/// Returns the shortest exact form that parse_duration reads back: "10s", "500ms", "2m".
std::string duration_text(Duration duration);

/// Returns `text` for a message. Printable ASCII and valid UTF-8 stay unchanged. Bytes of control
/// characters and invalid bytes become \xNN. Text beyond `bytes_max` is cut with ….
std::string printable(std::string_view text, size_t bytes_max = 120);
/// Returns the length of the valid UTF-8 sequence at the front of `text`, which must not be empty.
/// Returns 0 for a control character and for one that changes the direction of text.
size_t printable_length(std::string_view text);
/// Returns how many bytes at the end of `text` begin a UTF-8 character that needs more of them.
size_t unfinished_character(std::string_view text);
/// Quotes `text` for a POSIX shell: in single quotes, or without when it needs none.
std::string shell_quote(std::string_view text);

/// Returns the most similar candidate (edit distance at most 2 and under half the word's length).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace dt

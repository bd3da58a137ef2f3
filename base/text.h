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
std::string join(std::span<const std::string> parts, std::string_view separator);

/// A whole decimal number without sign games, blanks or overflow; none otherwise.
std::optional<int64_t> parse_integer(std::string_view text);
/// "10", "10s", "1.5s", "500ms", "2m", "1h": a length of time; a bare number is seconds. Never
/// negative.
Result<Duration> parse_duration(std::string_view text);
/// "10s", "500ms", "2m": the shortest exact form that parse_duration reads back.
std::string duration_text(Duration duration);

/// `text` for a message: printable ASCII and valid UTF-8 as they are, the bytes of control
/// characters and broken ones as \xNN, cut with … after `bytes_max`.
std::string printable(std::string_view text, size_t bytes_max = 120);
/// Length of the valid UTF-8 sequence at the front of `text` (not empty) that is no control
/// character, nor one of those that reverse the direction of text; 0 when there is none.
size_t printable_length(std::string_view text);
/// In single quotes as a POSIX shell reads it, or bare when it needs none.
std::string shell_quote(std::string_view text);

/// The candidate that a person most likely meant (edit distance at most 2 and under half the word).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace dt

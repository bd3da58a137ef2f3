#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One parsed line of ssh_config(5).
struct SshConfigLine {
  std::string keyword;  ///< in lower case
  std::string rest;     ///< the text after the keyword, as written
  std::vector<std::string>
      words;  ///< those of `rest`, without quotes, escapes and a trailing comment
};

/// Returns none for a blank line and a comment. Fails for the lines that OpenSSH refuses; the
/// message does not contain the place.
Result<std::optional<SshConfigLine>> parse_ssh_config_line(std::string_view text);

/// Splits a text with quotes ('…' and "…") and escapes into words, up to one that begins with #.
/// Returns none when a quote is not closed.
std::optional<std::vector<std::string>> split_ssh_words(std::string_view text);

}  // namespace dt

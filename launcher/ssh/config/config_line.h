#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// One line of ssh_config(5), taken apart.
struct SshConfigLine {
  std::string keyword;             ///< in lower case
  std::string rest;                ///< all that follows the keyword, as written
  std::vector<std::string> words;  ///< of `rest`, without quotes, escapes and a trailing comment
};

/// None for a blank line and a comment. An error says what is wrong, without the place; OpenSSH
/// refuses the same lines.
Result<std::optional<SshConfigLine>> parse_ssh_config_line(std::string_view text);

/// The words of a text with quotes ('…' and "…") and escapes; a word that begins with # ends it.
/// None when a quote is not closed.
std::optional<std::vector<std::string>> split_ssh_words(std::string_view text);

}  // namespace dt

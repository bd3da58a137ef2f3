#include "launcher/ssh/config/config_line.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>

namespace dt {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

/// Removes the keyword from the front of `rest`: the text up to a blank, an =, or a quoted part.
/// Returns none when a quote is not closed. Blanks around one = belong to the separator.
std::optional<std::string> take_keyword(std::string_view& rest) {
  const size_t end = rest.find_first_of(" \t\r\n\"=");
  std::string word(rest.substr(0, end));
  if (end == std::string_view::npos) {
    rest = {};
    return word;
  }
  const char separator = rest[end];
  rest.remove_prefix(end + 1);
  if (separator == '"') {
    const size_t quote = rest.find('"');
    if (quote == std::string_view::npos) return std::nullopt;
    word += rest.substr(0, quote);
    rest = without_leading_blanks(rest.substr(quote + 1));
    return word;
  }
  rest = without_leading_blanks(rest);
  if (separator != '=' && rest.starts_with('=')) rest = without_leading_blanks(rest.substr(1));
  return word;
}

/// Removes one word from the front of `text`. Returns none when a quote is not closed.
std::optional<std::string> take_word(std::string_view& text) {
  std::string word;
  char quote = 0;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    const bool escapes = next == '\'' || next == '"' || next == '\\' || (quote == 0 && next == ' ');
    if (c == '\\' && escapes) {
      word += text[++i];
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      break;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote && quote != 0) {
      quote = 0;
    } else {
      word += c;
    }
  }
  if (quote != 0) return std::nullopt;
  text.remove_prefix(i);
  return word;
}

}  // namespace

std::optional<std::vector<std::string>> split_ssh_words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty() || text.front() == '#') return words;
    std::optional<std::string> word = take_word(text);
    if (!word) return std::nullopt;
    words.push_back(*std::move(word));
  }
}

Result<std::optional<SshConfigLine>> parse_ssh_config_line(std::string_view text) {
  // OpenSSH reads lines as C strings. To it, a form feed is a blank only at the end of a line that
  // has other text.
  text = text.substr(0, text.find('\0'));
  text = text.substr(0, std::max<size_t>(text.find_last_not_of(" \t\r\n\f") + 1, 1));
  std::optional<std::string> keyword = take_keyword(text);
  if (keyword && keyword->empty()) keyword = take_keyword(text);
  if (!keyword || keyword->empty() || keyword->front() == '#') return std::nullopt;
  SshConfigLine line;
  line.keyword = lower_case(*keyword);
  line.rest = without_leading_blanks(text);
  if (line.rest.empty()) {
    return fail(Errc::input, format("no value after \"{}\"", printable(*keyword)));
  }
  std::optional<std::vector<std::string>> words = split_ssh_words(line.rest);
  if (!words)
    return fail(Errc::input, format("a quote is not closed after \"{}\"", printable(*keyword)));
  line.words = *std::move(words);
  return line;
}

}  // namespace dt

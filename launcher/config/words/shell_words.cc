#include "launcher/config/words/shell_words.h"

#include "base/format.h"

namespace dt {
namespace {

/// Reads one word after the other from the front of a text.
class WordReader {
 public:
  explicit WordReader(std::string_view text) : rest_(text) {}

  /// True when there is another word.
  bool more() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    return !rest_.empty();
  }

  Result<std::string> word() {
    std::string word;
    while (!rest_.empty() && blanks.find(rest_.front()) == std::string_view::npos) {
      const char c = take();
      if (c == '\'') {
        TRY(single_quoted(word));
      } else if (c == '"') {
        TRY(double_quoted(word));
      } else if (c == '\\') {
        if (rest_.empty()) return fail(Errc::input, "nothing follows the last backslash");
        add_escaped(word, take());
      } else {
        word += c;
      }
    }
    return word;
  }

 private:
  static constexpr std::string_view blanks = " \t\n";

  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  /// A backslash before a newline joins two lines.
  static void add_escaped(std::string& word, char c) {
    if (c != '\n') word += c;
  }

  Result<> single_quoted(std::string& word) {
    const size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return fail(Errc::input, "a ' is never closed");
    word += rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return {};
  }

  /// Within double quotes a backslash protects only special characters.
  Result<> double_quoted(std::string& word) {
    constexpr std::string_view special = "$`\"\\\n";
    while (!rest_.empty()) {
      const char c = take();
      if (c == '"') return {};
      const bool escapes =
          c == '\\' && !rest_.empty() && special.find(rest_.front()) != std::string_view::npos;
      if (escapes) {
        add_escaped(word, take());
      } else {
        word += c;
      }
    }
    return fail(Errc::input, "a \" is never closed");
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<std::string>> split_shell_words(std::string_view text) {
  std::vector<std::string> words;
  WordReader reader(text);
  while (reader.more()) {
    std::string word = TRY(reader.word());
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace dt

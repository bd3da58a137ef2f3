#include "launcher/export/kubernetes/literal_text.h"

#include <cstddef>

namespace dt {
namespace {

/// True for a byte behind a $ that Kubernetes does not leave as it is. It takes the first byte of
/// a character of several for a character of its own.
bool has_meaning_behind_dollar(char c) {
  return c == '$' || c == '(' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string literal_text(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    const bool is_dollar = text[at] == '$' && at + 1 < text.size();
    if (is_dollar && has_meaning_behind_dollar(text[at + 1])) result += '$';
  }
  return result;
}

std::vector<std::string> literal_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  result.reserve(texts.size());
  for (const std::string& text : texts)
    result.push_back(literal_text(text));
  return result;
}

}  // namespace dt

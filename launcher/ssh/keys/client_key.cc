#include "launcher/ssh/keys/client_key.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <vector>

namespace dt {

namespace {

/// Returns the text after `start` on the last line that has it.
std::string_view last_after(std::string_view log, std::string_view start) {
  const size_t at = log.rfind(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = log.substr(at + start.size());
  return trim(rest.substr(0, rest.find_first_of("\r\n")));
}

std::string in_small_letters(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace

std::string key_of_client(std::string_view log) {
  // "Server accepts key: /home/me/.ssh/id_ed25519 ED25519 SHA256:… agent"
  const std::string_view key = last_after(log, "Server accepts key: ");
  const size_t digest = key.find(" SHA256:");
  if (digest != std::string_view::npos) {
    const std::string_view name = key.substr(0, digest);
    const size_t type = name.rfind(' ');
    const bool agent = split_words(key.substr(digest)).back() == "agent";
    return format("{} from {}{}", printable(in_small_letters(name.substr(type + 1))),
                  printable(name.substr(0, type)), agent ? " in ssh-agent" : "");
  }
  const std::string_view method = last_after(log, " using \"");
  if (!method.empty()) return format("none, but {}", printable(method.substr(0, method.find('"'))));
  return log.find("mux_client") != std::string_view::npos ? "of a connection that is shared" : "";
}

}  // namespace dt

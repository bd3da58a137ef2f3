#include "launcher/check/login.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/check/units.h"

#include <vector>

namespace dt {

namespace {

/// What follows `start` on the last line that has it.
std::string_view last_after(std::string_view said, std::string_view start) {
  const size_t at = said.rfind(start);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = said.substr(at + start.size());
  return trim(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

std::string key_of_client(std::string_view said) {
  // "Server accepts key: /home/me/.ssh/id_ed25519 ED25519 SHA256:… agent"
  const std::string_view key = last_after(said, "Server accepts key: ");
  const size_t digest = key.find(" SHA256:");
  if (digest != std::string_view::npos) {
    const std::string_view name = key.substr(0, digest);
    const size_t type = name.rfind(' ');
    const bool agent = split_words(key.substr(digest)).back() == "agent";
    const bool certificate = name.ends_with("-CERT");
    return format("{} {} ({}){}", certificate ? "certificate" : "key",
                  printable(name.substr(0, type)), printable(name.substr(type + 1)),
                  agent ? " from ssh-agent" : "");
  }
  const std::string_view method = last_after(said, " using \"");
  if (!method.empty()) return format("login by {}", printable(method.substr(0, method.find('"'))));
  return said.find("mux_client") != std::string_view::npos ? "a connection that is shared" : "";
}

std::string login_text(const Host& host, const Connection& connection) {
  if (host.here) return "this machine, without ssh";
  const std::string key = key_of_client(connection.said);
  return format("the OpenSSH client{}{}, {}", key.empty() ? "" : ", ", key,
                time_text(connection.took));
}

}  // namespace dt

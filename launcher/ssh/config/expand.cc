#include "launcher/ssh/config/expand.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace dt {
namespace {

SshExpansion bad(std::string what) {
  return {SshExpansion::Kind::bad, std::move(what)};
}

/// Removes ${NAME} from the front of `rest`, and returns its value.
SshExpansion expand_variable(std::string_view& rest, const SshWorld& world) {
  const size_t end = rest.find('}');
  if (end == std::string_view::npos) return bad("\"${\" is not closed");
  const std::string name(rest.substr(2, end - 2));
  rest.remove_prefix(end + 1);
  if (name.empty()) return bad("\"${}\" names no variable");
  const std::optional<std::string> value = world.environment(name);
  if (!value) return bad(format("the variable {} is not set", printable(name)));
  return {SshExpansion::Kind::done, *value};
}

/// Removes %x from the front of `rest`, and returns its value.
SshExpansion expand_token(std::string_view& rest, const SshTokens& tokens) {
  if (rest.size() == 1) return bad("a % stands at its end");
  const char token = rest[1];
  rest.remove_prefix(2);
  if (token == '%') return {SshExpansion::Kind::done, "%"};
  const auto found = tokens.find(token);
  if (found == tokens.end()) {
    return {SshExpansion::Kind::unknown_token, format("%{}", printable({&token, 1}))};
  }
  return {SshExpansion::Kind::done, found->second};
}

}  // namespace

SshExpansion expand_ssh_tokens(std::string_view text, const SshTokens& tokens,
                               const SshWorld* world) {
  std::string all;
  while (!text.empty()) {
    SshExpansion part;
    if (world != nullptr && text.starts_with("${")) {
      part = expand_variable(text, *world);
    } else if (text.starts_with('%')) {
      part = expand_token(text, tokens);
    } else {
      part.text = text.front();
      text.remove_prefix(1);
    }
    if (part.kind != SshExpansion::Kind::done) return part;
    all += part.text;
  }
  return {SshExpansion::Kind::done, all};
}

SshExpansion expand_tilde(std::string_view text, const SshRequest& request, const SshWorld& world) {
  if (!text.starts_with('~')) return {SshExpansion::Kind::done, std::string(text)};
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string user(text.substr(1, slash - 1));
  const std::optional<std::string> home = user.empty() ? request.home : world.home_of(user);
  if (!home) return bad(format("there is no user {}", printable(user)));
  text.remove_prefix(std::min(text.find_first_not_of('/', slash), text.size()));
  return {SshExpansion::Kind::done, format("{}{}{}", *home, home->ends_with('/') ? "" : "/", text)};
}

SshExpansion expand_ssh_path(std::string_view text, const SshTokens& tokens,
                             const SshRequest& request, const SshWorld& world) {
  SshExpansion path = expand_tilde(text, request, world);
  if (path.kind != SshExpansion::Kind::done) return path;
  return expand_ssh_tokens(path.text, tokens, &world);
}

std::string dialed_name(std::string_view host) {
  if (is_ipv6(host)) return canonical_host(host);
  // inet_aton accepts all old forms of an IPv4 address ("127.1"), as getaddrinfo(3) does.
  in_addr address = {};
  std::array<char, INET_ADDRSTRLEN> text = {};
  const bool blank = host.find_first_of(" \t\n\v\f\r") != std::string_view::npos;
  if (!blank && inet_aton(std::string(host).c_str(), &address) == 1) {
    inet_ntop(AF_INET, &address, text.data(), text.size());
    return text.data();
  }
  return lower_case(host);
}

}  // namespace dt

#include "launcher/config/sync/git_source.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace dt {

namespace {

constexpr std::array<std::pair<std::string_view, uint16_t>, 5> schemes = {
    {{"https", 443}, {"http", 80}, {"ssh", 22}, {"git", 9418}, {"file", 0}}};

/// The parts of a git URL. Together they are its text.
struct UrlParts {
  std::string_view scheme;     ///< empty for user@host:path
  std::string_view authority;  ///< user, password, host and port
  std::string_view path;       ///< begins with "/", or is what follows "host:"
};

std::optional<UrlParts> parts_of_url(std::string_view text) {
  const size_t mark = text.find("://");
  if (mark != std::string_view::npos) {
    const std::string scheme = lower_case(text.substr(0, mark));
    if (std::ranges::find(schemes, scheme, [](const auto& known) { return known.first; }) ==
        schemes.end())
      return std::nullopt;
    const size_t begin = mark + 3;
    const size_t slash = std::min(text.find('/', begin), text.size());
    return UrlParts{.scheme = text.substr(0, mark),
                    .authority = text.substr(begin, slash - begin),
                    .path = text.substr(slash)};
  }
  const size_t colon = text.find(':');
  const size_t at = text.find('@');
  if (colon == std::string_view::npos || colon + 1 >= text.size() || at > colon || at == 0 ||
      at + 1 == colon || text.find('/') < colon)
    return std::nullopt;
  return UrlParts{.scheme = {}, .authority = text.substr(0, colon), .path = text.substr(colon + 1)};
}

uint16_t effective_port(const GitServer& server) {
  if (server.port != 0) return server.port;
  const auto* const known =
      std::ranges::find(schemes, server.scheme, [](const auto& each) { return each.first; });
  return known == schemes.end() ? uint16_t{0} : known->second;
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte <= ' ' || byte == 0x7f;
  });
}

/// Returns what is wrong with a REF, by the rules of git-check-ref-format(1). Its other characters
/// would be a list of refs, a pattern or an expression.
std::string fault_of_ref(std::string_view ref) {
  if (ref.empty()) return "it is empty";
  if (ref.starts_with('-')) return "it begins with '-'";
  if (ref.starts_with('+')) return "it begins with '+'";
  if (ref.size() > 250) return "it is longer than 250 bytes";
  if (has_control_characters(ref) || ref.find_first_of("~^:?*[\\") != std::string_view::npos)
    return "it has a character that no branch or tag has";
  if (ref.find("..") != std::string_view::npos || ref.find("@{") != std::string_view::npos)
    return "it is an expression";
  return "";
}

}  // namespace

bool GitServer::same_server(const GitServer& other) const {
  return scheme == other.scheme && host == other.host &&
         effective_port(*this) == effective_port(other);
}

bool is_git_url(std::string_view text) {
  return parts_of_url(text).has_value();
}

std::optional<GitServer> git_server_of(std::string_view url) {
  const auto parts = parts_of_url(url);
  if (!parts) return std::nullopt;
  GitServer server{.scheme = parts->scheme.empty() ? "ssh" : lower_case(parts->scheme)};
  std::string_view host = parts->authority;
  const size_t at = host.rfind('@');
  if (at != std::string_view::npos) {
    server.user = host.substr(0, at);
    host.remove_prefix(at + 1);
  }
  const size_t colon = host.rfind(':');
  // The colons within the brackets of an IPv6 address are no port.
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const auto port = parse_integer(host.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return std::nullopt;
    server.port = static_cast<uint16_t>(*port);
    host = host.substr(0, colon);
  }
  server.host = lower_case(host);
  if (server.host.empty() != (server.scheme == "file")) return std::nullopt;
  return server;
}

std::string name_of_repository(const GitSource& source) {
  const auto parts = parts_of_url(source.url);
  if (!parts) return source.url;
  const std::string_view host = parts->authority.substr(parts->authority.rfind('@') + 1);
  return parts->scheme.empty() ? format("{}:{}", host, parts->path)
                               : format("{}://{}{}", parts->scheme, host, parts->path);
}

Result<GitSource> parse_git_source(std::string_view text) {
  const auto parts = parts_of_url(text);
  if (!parts) return fail(Errc::input, format("'{}' is no git URL", printable(text)));
  const auto server = git_server_of(text);
  if (server && server->user.find(':') != std::string::npos)
    return fail(Errc::input,
                format("--sync-from: the URL of '{}' has a password, which other users could read; "
                       "give it by --sync-user with --sync-token-file or --sync-token-env",
                       printable(server->host)));
  if (!server || server->host.starts_with('-') || server->user.starts_with('-') ||
      has_control_characters(text))
    return fail(Errc::input, format("--sync-from: '{}' is no URL of a git repository; it needs a "
                                    "host, and a port from 1 to 65535 if it has one",
                                    printable(text)));
  const size_t at = parts->path.find('@');
  const std::string_view path = parts->path.substr(0, at);
  if (path.empty() || path == "/")
    return fail(Errc::input, format("--sync-from: the URL '{}' has no path", printable(text)));
  const auto end = static_cast<size_t>(path.data() + path.size() - text.data());
  GitSource source{.url = std::string(text.substr(0, end)), .ref = {}};
  if (at == std::string_view::npos) return source;
  source.ref = parts->path.substr(at + 1);
  const std::string fault = fault_of_ref(source.ref);
  if (!fault.empty())
    return fail(Errc::input,
                format("--sync-from: '{}' behind the '@' is no branch, tag or commit: {}",
                       printable(source.ref), fault));
  return source;
}

}  // namespace dt

#include "launcher/ssh/config/jump.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/config/pattern.h"

#include <algorithm>
#include <optional>

namespace dt {
namespace {

struct Hop {
  std::string user;
  std::string host;
  std::string port;
};

bool is_port(std::string_view text) {
  const std::optional<int64_t> number = parse_integer(text);
  return number && *number >= 1 && *number <= 65535;
}

/// Parses "host", "host:port" or "[::1]:port". Without brackets the first colon ends the name.
std::optional<Hop> parse_host_port(std::string_view text) {
  const bool bracketed = text.starts_with('[');
  const size_t bracket = bracketed ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const size_t end = std::min(text.find_first_of(":/", bracket), text.size());
  if (bracketed && end != bracket + 1) return std::nullopt;
  Hop hop;
  hop.host = bracketed ? text.substr(1, bracket - 1) : text.substr(0, end);
  if (end < text.size()) hop.port = text.substr(end + 1);
  if (text.substr(0, end).empty() || (!hop.port.empty() && !is_port(hop.port))) return std::nullopt;
  return hop;
}

std::optional<Hop> parse_hop(std::string_view text) {
  const bool uri = text.starts_with("ssh://");
  if (uri) {
    text.remove_prefix(6);
    if (text.ends_with('/')) text.remove_suffix(1);
  }
  const size_t at = uri ? text.find('@') : text.rfind('@');
  if (at == std::string_view::npos) return parse_host_port(text);
  if (at == 0) return std::nullopt;
  std::optional<Hop> hop = parse_host_port(text.substr(at + 1));
  // A URI may carry parameters after the user; OpenSSH ignores them.
  if (hop) hop->user = text.substr(0, uri ? std::min(at, text.find(';')) : at);
  return hop;
}

std::string hop_text(const Hop& hop) {
  const bool numeric = hop.host.find(':') != std::string::npos ||
                       hop.host.find_first_not_of("0123456789.") == std::string::npos;
  return format("{}{}{}{}", hop.user.empty() ? "" : hop.user + "@",
                numeric ? "[" + hop.host + "]" : hop.host, hop.port.empty() ? "" : ":", hop.port);
}

}  // namespace

Result<std::string> parse_ssh_jumps(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n="), text.size()));
  // OpenSSH takes "none" with a comment after it as the name of a host.
  if (equals_ignoring_case(text, "none")) return std::string();
  text = trim(text.substr(0, text.find('#')));
  std::string all;
  for (const std::string_view word : split(text, ',')) {
    const std::optional<Hop> hop = parse_hop(word);
    if (!hop) return fail(Errc::input, format("proxyjump: bad value \"{}\"", printable(text)));
    all = hop_text(*hop);
  }
  // This client dials only the last hop. The text before it is forwarded unchanged.
  const size_t comma = text.rfind(',');
  return (comma == std::string_view::npos ? "" : std::string(text.substr(0, comma + 1))) + all;
}

}  // namespace dt

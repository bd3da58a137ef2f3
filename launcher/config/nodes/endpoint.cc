#include "launcher/config/nodes/endpoint.h"

#include "base/format.h"
#include "base/host_name.h"
#include "base/text.h"

#include <optional>

namespace dt {
namespace {

constexpr int64_t port_max = 65535;

Result<uint16_t> parse_port(std::string_view text) {
  const auto port = parse_integer(text);
  if (port && *port >= 1 && *port <= port_max) return static_cast<uint16_t>(*port);
  return fail(Errc::input,
              format("expected a port of 1..{}, got \"{}\"", port_max, printable(text)));
}

}  // namespace

std::string Endpoint::text() const {
  const bool needs_brackets = host.find(':') != std::string::npos;
  const std::string shown = needs_brackets ? format("[{}]", host) : host;
  return port == 0 ? shown : format("{}:{}", shown, port);
}

Result<std::string> parse_master_host(std::string_view text) {
  std::string_view host = text;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!is_ipv6(host))
      return fail(Errc::input,
                  format("\"{}\" is not an IPv6 address; brackets are for those", printable(host)));
  }
  if (is_ipv6(host)) return std::string(host);
  if (host.find(':') != std::string_view::npos)
    return fail(Errc::input,
                format("expected a host name or an address, got \"{}\"", printable(text)));
  if (const auto fault = host_name_fault(host)) return fail(Errc::input, fault->message);
  return std::string(host);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  const size_t bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  if (bracket == std::string_view::npos && is_ipv6(text)) {
    return fail(Errc::input,
                format("IPv6 addresses need brackets here: [{}], or [{}]:PORT", text, text));
  }
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  Endpoint endpoint;
  endpoint.host = TRY(parse_master_host(text.substr(0, colon)));
  if (colon == std::string_view::npos) return endpoint;
  endpoint.port = TRY(parse_port(text.substr(colon + 1)));
  return endpoint;
}

}  // namespace dt

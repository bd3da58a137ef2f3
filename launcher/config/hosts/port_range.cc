#include "launcher/config/hosts/port_range.h"

#include "base/format.h"
#include "base/io/socket.h"
#include "base/text.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>

namespace dt {

namespace {

/// Lower ports are reserved for the system.
constexpr int64_t port_min = 1024;
constexpr int64_t port_max = 65535;

Result<HeldPort> hold_any() {
  Fd socket = TRY(hold_port(0));
  const Address address = TRY(local_address(socket.get()));
  return HeldPort{.number = address.port, .socket = std::move(socket)};
}

tl::unexpected<Error> too_few(const PortRange& range, int wanted, size_t had) {
  if (wanted > range.size()) {
    return fail(Errc::input, format("--port-range {}: {} ports are needed, it has {}", range.text(),
                                    wanted, range.size()));
  }
  if (had == 0) return fail(Errc::refused, all_busy_text(range));
  return fail(Errc::refused, format("--port-range {}: {} ports are needed, {} of {} are free",
                                    range.text(), wanted, had, range.size()));
}

}  // namespace

std::string PortRange::text() const {
  return first == last ? format("{}", first) : format("{}-{}", first, last);
}

std::optional<PortRange> parse_port_range(std::string_view text) {
  const size_t dash = text.find('-');
  const auto first = parse_integer(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_integer(text.substr(dash + 1));
  if (!first || !last || *first < port_min || *last > port_max || *first > *last) {
    return std::nullopt;
  }
  return PortRange{static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
}

std::optional<PortClaim> PortClaim::make(uint16_t port) {
  // An abstract name, without a file. It belongs to the same network namespace as the port, and
  // ends with the socket.
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = format("dtrain-port-{}", port);
  std::ranges::copy(name, address.sun_path + 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) < 0) {
    return std::nullopt;
  }
  return PortClaim(std::move(socket));
}

Result<HeldPort> hold_this_port(uint16_t port) {
  std::optional<PortClaim> claim = PortClaim::make(port);
  if (!claim) {
    return fail(Errc::refused,
                format("cannot hold port {}: another dtrain of this host has it for a job", port));
  }
  const Result<> unheard = check_no_listener(port);
  if (!unheard) return fail(Errc::refused, unheard.error().message);
  Result<Fd> socket = hold_port(port);
  if (!socket) return fail(Errc::refused, socket.error().message);
  return HeldPort{.number = port, .socket = *std::move(socket), .claim = std::move(claim)};
}

Result<std::vector<HeldPort>> hold_ports(int count, const std::optional<PortRange>& range) {
  std::vector<HeldPort> held;
  if (!range) {
    for (int i = 0; i < count; ++i) {
      HeldPort port = TRY(hold_any());
      held.push_back(std::move(port));
    }
    return held;
  }
  const auto wanted = static_cast<size_t>(count);
  for (int port = range->first; port <= range->last && held.size() < wanted; ++port) {
    if (auto one = hold_this_port(static_cast<uint16_t>(port))) held.push_back(*std::move(one));
  }
  if (held.size() < wanted) return too_few(*range, count, held.size());
  return held;
}

std::string all_busy_text(const PortRange& range) {
  return range.size() == 1
             ? format("--port-range {0}: port {0} is busy", range.first)
             : format("--port-range {}: all {} ports busy", range.text(), range.size());
}

}  // namespace dt

#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The TCP ports that firewalls allow, for the rendezvous and for tasks.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;

  int size() const { return last - first + 1; }
  bool contains(uint16_t port) const { return first <= port && port <= last; }
  /// Returns "5000-5009", or "5000" for one port.
  std::string text() const;
  bool operator==(const PortRange&) const = default;
};

/// Parses FIRST-LAST, or one port, from 1024 up. Returns none for any other text.
std::optional<PortRange> parse_port_range(std::string_view text);

/// The exclusive use of a port among all dtrain processes of this machine, for the object's
/// lifetime. A successful bind(2) does not prove it, since held ports have SO_REUSEADDR.
class PortClaim {
 public:
  /// Returns none while another dtrain has the port.
  static std::optional<PortClaim> make(uint16_t port);

 private:
  explicit PortClaim(Fd name) : name_(std::move(name)) {}
  Fd name_;
};

/// A held port, see hold_port().
struct HeldPort {
  uint16_t number = 0;
  Fd socket;
  std::optional<PortClaim> claim = {};  ///< set for a port from a range
};

/// Holds so many ports: of the range, or any free ones without a range.
Result<std::vector<HeldPort>> hold_ports(int count, const std::optional<PortRange>& range);

/// Holds this port. Fails with Errc::refused when another process has it.
Result<HeldPort> hold_this_port(uint16_t port);

/// Returns the error for a range without a free port.
std::string all_busy_text(const PortRange& range);

}  // namespace dt

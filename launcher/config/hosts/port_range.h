#pragma once

#include "base/io/fd.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The TCP ports that firewalls let through: of the rendezvous, and those held for tasks.
struct PortRange {
  uint16_t first = 0;
  uint16_t last = 0;

  int size() const { return last - first + 1; }
  bool contains(uint16_t port) const { return first <= port && port <= last; }
  /// "5000-5009", or "5000" for one.
  std::string text() const;
  bool operator==(const PortRange&) const = default;
};

/// Reads FIRST-LAST, or one port, from 1024 up. None: the text is something else.
std::optional<PortRange> parse_port_range(std::string_view text);

/// A port of the range that is ours among all dtrain of this machine, as long as this lives. Held
/// ports are shared with whoever sets SO_REUSEADDR, so that binding one shows nothing.
class PortClaim {
 public:
  /// None while another dtrain has it.
  static std::optional<PortClaim> make(uint16_t port);

 private:
  explicit PortClaim(Fd name) : name_(std::move(name)) {}
  Fd name_;
};

/// A port that is held, see hold_port().
struct HeldPort {
  uint16_t number = 0;
  Fd socket;
  std::optional<PortClaim> claim = {};  ///< of one from a range
};

/// Holds so many ports, any free ones or out of the range.
Result<std::vector<HeldPort>> hold_ports(int count, const std::optional<PortRange>& range);

/// Holds this very port. Errc::refused says why it cannot be had.
Result<HeldPort> hold_this_port(uint16_t port);

/// What to say when none of the range can be had.
std::string all_busy_text(const PortRange& range);

}  // namespace dt

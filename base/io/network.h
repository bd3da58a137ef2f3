#pragma once

#include "base/result.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// An address of this machine, and the interface that has it.
struct InterfaceAddress {
  std::string interface;
  std::string ip;  ///< numeric, without brackets
  bool operator==(const InterfaceAddress&) const = default;
};

/// Returns the addresses of all interfaces that are up, loopback last. Omits link-local IPv6 ones.
std::vector<InterfaceAddress> interface_addresses();

/// Returns the name of this machine, or of its UTS namespace.
std::string own_host_name();
/// Returns the addresses of a host's name by the system's resolver, without ports. Blocks as long
/// as that does. Fails with Errc::not_found when there is no such name, else with
/// Errc::unreachable.
Result<std::vector<std::string>> look_up_addresses(const std::string& name);

/// True for a numeric address that only this machine itself can dial.
bool is_loopback(std::string_view ip);

/// A range of addresses in the usual notation: "10.0.0.0/8", "fd00::/64".
class IpNetwork {
 public:
  /// Returns none for other texts. Bits behind the prefix may be set: 10.1.2.3/8 is 10.0.0.0/8.
  static std::optional<IpNetwork> parse(std::string_view text);
  bool contains(std::string_view ip) const;

 private:
  int family_ = 0;
  std::array<std::byte, 16> prefix_ = {};
  size_t prefix_bits_ = 0;
};

}  // namespace dt

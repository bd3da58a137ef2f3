#pragma once

#include <netinet/in.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// A set of numeric addresses, v4 and v6. An IPv4 address equals its form mapped into IPv6. The
/// zone of a link-local address ("%eth0") is ignored.
class AddressSet {
 public:
  AddressSet() = default;
  /// Ignores texts that are no address.
  explicit AddressSet(const std::vector<std::string>& ips);

  bool contains(const std::string& ip) const;
  bool operator==(const AddressSet&) const = default;

 private:
  using Key = std::array<unsigned char, sizeof(in6_addr)>;
  static std::optional<Key> key_of(const std::string& ip);

  std::set<Key> keys_;
};

}  // namespace dt

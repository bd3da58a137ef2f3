#pragma once

#include <netinet/in.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dt {

/// Numeric addresses, v4 and v6. One of IPv4 is the same when it comes mapped into IPv6, and the
/// zone of a link-local one ("%eth0") does not count.
class AddressSet {
 public:
  AddressSet() = default;
  /// Leaves out what is no address.
  explicit AddressSet(const std::vector<std::string>& ips);

  bool contains(const std::string& ip) const;
  bool operator==(const AddressSet&) const = default;

 private:
  using Key = std::array<unsigned char, sizeof(in6_addr)>;
  static std::optional<Key> key_of(const std::string& ip);

  std::set<Key> keys_;
};

}  // namespace dt

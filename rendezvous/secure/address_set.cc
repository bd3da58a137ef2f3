#include "rendezvous/secure/address_set.h"

#include <arpa/inet.h>

#include <algorithm>

namespace dt {

AddressSet::AddressSet(const std::vector<std::string>& ips) {
  for (const std::string& ip : ips) {
    if (const auto key = key_of(ip)) keys_.insert(*key);
  }
}

bool AddressSet::contains(const std::string& ip) const {
  const auto key = key_of(ip);
  return key && keys_.contains(*key);
}

std::optional<AddressSet::Key> AddressSet::key_of(const std::string& ip) {
  const std::string bare = ip.substr(0, ip.find('%'));
  Key key = {};
  if (inet_pton(AF_INET6, bare.c_str(), key.data()) == 1) return key;
  std::array<unsigned char, sizeof(in_addr)> v4 = {};
  if (inet_pton(AF_INET, bare.c_str(), v4.data()) != 1) return std::nullopt;
  // The mapping of RFC 4291: ten zero bytes, two 0xff bytes, the address.
  key = {};
  std::ranges::fill_n(key.end() - 6, 2, static_cast<unsigned char>(0xff));
  std::ranges::copy(v4, key.end() - 4);
  return key;
}

}  // namespace dt

#include "base/io/network.h"

#include "base/format.h"
#include "base/ip_text.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace dt {

namespace {

size_t bits_of(int family) {
  return family == AF_INET ? 32 : 128;
}

/// Reads a numeric address into `bytes`. Returns its family; 0 when the text is no address.
int read_ip(const std::string& text, std::array<std::byte, 16>& bytes) {
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), bytes.data()) == 1) return family;
  }
  return 0;
}

}  // namespace

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) < 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  std::vector<InterfaceAddress> outside;
  std::vector<InterfaceAddress> loopback;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string ip = ip_text(at->ifa_addr);
    if (ip.starts_with("fe80:")) continue;  // useless without its interface
    // "eth0:1" is a label of an address of eth0, and no name of an interface.
    const std::string_view label = at->ifa_name;
    ((at->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outside)
        .push_back({std::string(label.substr(0, label.find(':'))), ip});
  }
  outside.insert(outside.end(), loopback.begin(), loopback.end());
  return outside;
}

std::string own_host_name() {
  std::array<char, 256> name = {};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

Result<std::vector<std::string>> look_up_addresses(const std::string& name) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int status = getaddrinfo(name.c_str(), nullptr, &wanted, &first);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, freeaddrinfo);
  if (status != 0) {
    const bool no_such_name = status == EAI_NONAME || status == EAI_NODATA;
    return fail(no_such_name ? Errc::not_found : Errc::unreachable,
                format("cannot look up '{}': {}", printable(name), gai_strerror(status)));
  }
  std::vector<std::string> addresses;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next)
    addresses.push_back(ip_text(at->ai_addr));
  return addresses;
}

bool is_loopback(std::string_view ip) {
  return ip.starts_with("127.") || ip == "::1";
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  IpNetwork network;
  network.family_ = read_ip(std::string(text.substr(0, slash)), network.prefix_);
  const auto bits = parse_integer(text.substr(slash + 1));
  if (network.family_ == 0 || !bits || *bits < 0) return std::nullopt;
  network.prefix_bits_ = static_cast<size_t>(*bits);
  if (network.prefix_bits_ > bits_of(network.family_)) return std::nullopt;
  return network;
}

bool IpNetwork::contains(std::string_view ip) const {
  std::array<std::byte, 16> bytes = {};
  if (read_ip(std::string(ip), bytes) != family_) return false;
  for (size_t bit = 0; bit < prefix_bits_; ++bit) {
    const auto mask = std::byte{0x80} >> (bit % 8);
    if ((bytes[bit / 8] & mask) != (prefix_[bit / 8] & mask)) return false;
  }
  return true;
}

}  // namespace dt

#include "launcher/config/hosts/networks.h"

#include "base/format.h"
#include "base/text.h"

#include <net/if.h>

#include <algorithm>

namespace dt {

namespace {

bool fits(const InterfaceAddress& address, const std::string& word) {
  const auto network = IpNetwork::parse(word);
  return network ? network->contains(address.ip) : address.interface == word;
}

/// Returns "eth0, lo", or `with_addresses` "eth0 (10.0.0.1, fd00::1), lo (127.0.0.1)".
std::string interfaces_text(const std::vector<InterfaceAddress>& all, bool with_addresses) {
  std::vector<std::string> names;
  for (const InterfaceAddress& address : all) {
    if (std::ranges::find(names, address.interface) == names.end()) {
      names.push_back(address.interface);
    }
  }
  if (names.empty()) return "none";
  if (!with_addresses) return join(names, ", ");
  for (std::string& name : names) {
    std::vector<std::string> ips;
    for (const InterfaceAddress& address : all) {
      if (address.interface == name) ips.push_back(address.ip);
    }
    name += format(" ({})", join(ips, ", "));
  }
  return join(names, ", ");
}

}  // namespace

bool is_network_word(std::string_view word) {
  if (IpNetwork::parse(word)) return true;
  return !word.empty() && word.size() < IFNAMSIZ && word != "." && word != ".." &&
         word.find_first_of("/: ") == std::string_view::npos && printable(word) == word;
}

Result<std::vector<InterfaceAddress>> allowed_addresses(const std::vector<InterfaceAddress>& all,
                                                        const std::vector<std::string>& words) {
  if (words.empty()) return all;
  std::vector<InterfaceAddress> allowed;
  for (const std::string& word : words) {
    for (const InterfaceAddress& address : all) {
      const bool taken = std::ranges::find(allowed, address) != allowed.end();
      if (!taken && fits(address, word)) allowed.push_back(address);
    }
  }
  if (!allowed.empty()) return allowed;
  const bool by_address = std::ranges::any_of(
      words, [](const std::string& word) { return IpNetwork::parse(word).has_value(); });
  return fail(Errc::input, format("no interface fits --network-interfaces {}; there are: {}",
                                  join(words, ","), interfaces_text(all, by_address)));
}

}  // namespace dt

#include "launcher/config/hosts/networks.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const std::vector<InterfaceAddress> all = {{"docker0", "172.17.0.1"}, {"eth0", "10.0.0.1"},
                                           {"ib0", "10.9.0.1"},       {"ib0", "fd77::1"},
                                           {"lo", "127.0.0.1"},       {"lo", "::1"}};

std::string ips_of(const std::vector<std::string>& words) {
  const auto allowed = allowed_addresses(all, words);
  if (!allowed) return allowed.error().message;
  std::string ips;
  for (const InterfaceAddress& address : *allowed)
    ips += (ips.empty() ? "" : " ") + address.ip;
  return ips;
}

TEST_CASE("allowed_addresses: those that fit a name or a network, the first word's first") {
  CHECK(allowed_addresses(all, {}).value() == all);
  CHECK(ips_of({"eth0"}) == "10.0.0.1");
  CHECK(ips_of({"ib0", "eth0"}) == "10.9.0.1 fd77::1 10.0.0.1");
  CHECK(ips_of({"10.0.0.0/8"}) == "10.0.0.1 10.9.0.1");
  CHECK(ips_of({"fd77::/16", "10.9.0.0/16", "ib0"}) == "fd77::1 10.9.0.1");
  // Interface names may differ between hosts: each host has one of these.
  CHECK(ips_of({"ens5", "eth0"}) == "10.0.0.1");
}

TEST_CASE("allowed_addresses: the error lists the interfaces when no address fits") {
  CHECK(ips_of({"eth1"}) ==
        "no interface fits --network-interfaces eth1; there are: docker0, eth0, ib0, lo");
  CHECK(ips_of({"eth", "10.1.0.0/16"}) ==
        "no interface fits --network-interfaces eth,10.1.0.0/16; there are: docker0 (172.17.0.1), "
        "eth0 (10.0.0.1), ib0 (10.9.0.1, fd77::1), lo (127.0.0.1, ::1)");
  CHECK(allowed_addresses({}, {"eth0"}).error().message ==
        "no interface fits --network-interfaces eth0; there are: none");
}

TEST_CASE("is_network_word: names that the kernel takes, and networks") {
  for (const char* word : {"eth0", "enp1s0f0", "br-12ab", "eth0.7", "10.0.0.0/8", "::/0"}) {
    CAPTURE(word);
    CHECK(is_network_word(word));
  }
  for (const char* word : {"", ".", "a b", "10.0.0.0/33", "eth0/8", "eth0:1", "a23456789012345678",
                           "e\x01", "fd77::1"}) {
    CAPTURE(word);
    CHECK_FALSE(is_network_word(word));
  }
}

}  // namespace
}  // namespace dt

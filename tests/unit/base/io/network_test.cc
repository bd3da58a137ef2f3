#include "base/io/network.h"

#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

TEST_CASE("the machine's addresses end with loopback, each with its interface") {
  const std::vector<InterfaceAddress> all = interface_addresses();
  const auto loopback = std::ranges::find(all, "127.0.0.1", &InterfaceAddress::ip);
  REQUIRE(loopback != all.end());
  CHECK(loopback->interface == "lo");
  CHECK(std::all_of(loopback, all.end(), [](const InterfaceAddress& address) {
    return address.ip.starts_with("127.") || address.ip == "::1";
  }));
  for (const InterfaceAddress& address : all) {
    CAPTURE(address.ip);
    CHECK(Address::parse(host_port(address.ip, 1)));
    CHECK_FALSE(address.interface.empty());
  }
}

TEST_CASE("loopback addresses are known by their text") {
  for (const char* ip : {"127.0.0.1", "127.8.9.10", "::1"})
    CHECK(is_loopback(ip));
  for (const char* ip : {"10.0.0.1", "1.127.0.1", "::2", "fd77::1", ""})
    CHECK_FALSE(is_loopback(ip));
}

TEST_CASE("IpNetwork: what lies in it, by prefix") {
  struct Row {
    const char* network;
    const char* inside;
    const char* outside;
  };
  constexpr Row rows[] = {
      {"10.0.0.0/8", "10.255.0.1", "11.0.0.1"},
      {"10.1.2.3/8", "10.9.9.9", "110.0.0.1"},
      {"192.168.4.0/22", "192.168.7.255", "192.168.8.0"},
      {"10.77.0.9/32", "10.77.0.9", "10.77.0.8"},
      {"0.0.0.0/0", "255.255.255.255", "::1"},
      {"fd77::/64", "fd77::1:0:0:1", "fd77:0:0:1::1"},
      {"fd77::/63", "fd77:0:0:1::1", "fd77:0:0:2::1"},
      {"::/0", "fd77::1", "10.0.0.1"},
      {"::1/128", "::1", "::2"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.network);
    const auto network = IpNetwork::parse(row.network);
    REQUIRE(network);
    CHECK(network->contains(row.inside));
    CHECK_FALSE(network->contains(row.outside));
    CHECK_FALSE(network->contains("eth0"));
  }
}

TEST_CASE("IpNetwork: other texts are none") {
  for (const char* text :
       {"", "/", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "fd77::/129", "10.0.0.0/-1",
        "10.0.0.0/8/8", "eth0/8", "10.0.0.0/255.0.0.0", "/8"}) {
    CAPTURE(text);
    CHECK_FALSE(IpNetwork::parse(text));
  }
}

}  // namespace
}  // namespace dt

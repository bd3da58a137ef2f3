#include "rendezvous/secure/address_set.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("an address is in a set of sources however it is written") {
  const AddressSet sources({"127.0.0.1", "10.0.0.7", "fd00::1", "fe80::5%eth0", "no address", ""});
  struct Row {
    const char* ip;
    bool contained;
  };
  const Row rows[] = {{"127.0.0.1", true},
                      {"127.0.0.2", false},
                      {"10.0.0.7", true},
                      {"::ffff:10.0.0.7", true},
                      {"::ffff:a00:7", true},
                      {"::10.0.0.7", false},
                      {"10.0.0.70", false},
                      {"fd00::1", true},
                      {"FD00:0:0:0:0:0:0:1", true},
                      {"fd00::2", false},
                      {"fe80::5", true},
                      {"fe80::5%3", true},
                      {"::", false},
                      {"0.0.0.0", false},
                      {"no address", false},
                      {"", false}};
  for (const Row& row : rows) {
    CAPTURE(row.ip);
    CHECK(sources.contains(row.ip) == row.contained);
  }
  CHECK(AddressSet({"::ffff:10.0.0.7"}).contains("10.0.0.7"));
  CHECK(!AddressSet().contains("127.0.0.1"));
}

}  // namespace
}  // namespace dt

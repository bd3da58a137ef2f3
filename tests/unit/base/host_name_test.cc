#include "base/host_name.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using namespace std::string_literals;

/// Empty when there is no fault.
std::string shown(const std::optional<NameFault>& fault) {
  return fault ? fault->message + " @" + std::to_string(fault->offset) : "";
}

TEST_CASE("names and IPv4 addresses are accepted as resolvers know them") {
  for (const char* name : {"a", "A-1", "node_1.example.org", "node1.", "10.0.0.1", "1a", "a.4b",
                           "xn--bcher-kva.example"}) {
    CAPTURE(name);
    CHECK(shown(host_name_fault(name)) == "");
  }
  CHECK(shown(host_name_fault(std::string(63, 'x'))) == "");
}

TEST_CASE("a name's fault has the offset of the wrong part") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "host name is missing @0"},
      {"-a", "host name may not start with \"-\" @0"},
      {"ab;c", "invalid character \";\" (0x3B) in host name @2"},
      {"a\0"s, "invalid character \"\\x00\" (0x00) in host name @1"},
      {"a\xe2\x82\xac",
       "invalid character \"€\" (0xE2 0x82 0xAC) in host name; write "
       "international names as xn--… @1"},
      {"a..b", "host name has an empty label @2"},
      {".a", "host name has an empty label @0"},
      {".", "host name has an empty label @0"},
      {"ab." + std::string(64, 'x'),
       "a label of the host name has 64 characters, at most 63 are allowed @3"},
      {"1.2.3", "\"1.2.3\" is neither a host name nor an IPv4 address @0"},
      {"256.1.1.1", "\"256.1.1.1\" is neither a host name nor an IPv4 address @0"},
      {"10.0.0.1.", "\"10.0.0.1.\" is neither a host name nor an IPv4 address @0"},
  };
  for (const auto& [name, message] : cases) {
    CAPTURE(name);
    CHECK(shown(host_name_fault(name)) == message);
  }
}

TEST_CASE("a user is letters, digits, - . _ +, and no option") {
  for (const char* name : {"me", "first.last", "a_b-c+d", "_svc"}) {
    CAPTURE(name);
    CHECK(shown(user_name_fault(name)) == "");
  }
  CHECK(shown(user_name_fault("")) == "user name is missing before \"@\" @0");
  CHECK(shown(user_name_fault("-l")) == "user name may not start with \"-\" @0");
  CHECK(shown(user_name_fault("a$b")) == "invalid character \"$\" (0x24) in user name @1");
  CHECK(shown(user_name_fault(std::string(65, 'u'))) ==
        "user name has 65 characters, at most 64 are allowed @0");
}

TEST_CASE("IPv6 addresses are known with and without a zone") {
  for (const std::string& text :
       {"::1"s, "fe80::1%eth0"s, "::ffff:10.0.0.1"s, "1:2:3:4:5:6:7:8"s}) {
    CAPTURE(text);
    CHECK(is_ipv6(text));
  }
  for (const std::string& text :
       {""s, "1"s, "a:1"s, "::1%"s, "::1%;"s, "::1%-x"s, "10.0.0.1"s, "::1\0x"s, "1::2::3"s}) {
    CAPTURE(text);
    CHECK(!is_ipv6(text));
  }
}

TEST_CASE("one machine has one canonical name, however it is written") {
  CHECK(canonical_host("Node1.Example.ORG.") == "node1.example.org");
  CHECK(canonical_host("0:0:0:0:0:0:0:1") == "::1");
  CHECK(canonical_host("FE80::0:1%eth0") == "fe80::1%eth0");
  CHECK(canonical_host("10.0.0.1") == "10.0.0.1");
}

}  // namespace
}  // namespace dt

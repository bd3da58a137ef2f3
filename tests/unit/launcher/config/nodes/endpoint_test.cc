#include "launcher/config/nodes/endpoint.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("an endpoint is a host name or an address, and a port that may be absent") {
  struct Case {
    std::string text;
    Endpoint endpoint;
  };
  const Case cases[] = {{"n1", {.host = "n1", .port = 0}},
                        {"n1:29500", {.host = "n1", .port = 29500}},
                        {"10.0.0.1:1", {.host = "10.0.0.1", .port = 1}},
                        {"[fd00::1]:65535", {.host = "fd00::1", .port = 65535}},
                        {"[fd00::1]", {.host = "fd00::1", .port = 0}},
                        {"job-0.job.ns.svc", {.host = "job-0.job.ns.svc", .port = 0}}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto endpoint = parse_endpoint(c.text);
    REQUIRE(endpoint);
    CHECK(*endpoint == c.endpoint);
    CHECK(parse_endpoint(endpoint->text()) == c.endpoint);
  }
}

TEST_CASE("a wrong endpoint is named") {
  struct Case {
    std::string text;
    std::string message;
  };
  const Case cases[] = {
      {"fd00::1", "IPv6 addresses need brackets here: [fd00::1], or [fd00::1]:PORT"},
      {"n1:0", "expected a port of 1..65535, got \"0\""},
      {"n1:65536", "expected a port of 1..65535, got \"65536\""},
      {"n1:", "expected a port of 1..65535, got \"\""},
      {"n1:x", "expected a port of 1..65535, got \"x\""},
      {"[n1]:1", "\"n1\" is not an IPv6 address; brackets are for those"},
      {"[fd00::1:1", "invalid character \"[\" (0x5B) in host name"}};
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto endpoint = parse_endpoint(c.text);
    REQUIRE_FALSE(endpoint);
    CHECK(endpoint.error().message == c.message);
  }
  for (const char* text : {"", ":1", "n 1", "-n:1", "[fd00::1]x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_endpoint(text));
  }
}

TEST_CASE("a master's address may be one of IPv6 with or without brackets") {
  CHECK(parse_master_host("n1").value() == "n1");
  CHECK(parse_master_host("fd00::1").value() == "fd00::1");
  CHECK(parse_master_host("[fd00::1]").value() == "fd00::1");
  for (const char* text : {"", "n1:29500", "a b", "[n1]"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_master_host(text));
  }
}

}  // namespace
}  // namespace dt

#include "launcher/config/allocation/allocated_hosts.h"

#include <doctest/doctest.h>

#include <utility>

namespace dt {
namespace {

TEST_CASE("slots of two lists add up, in the order of the first mentions") {
  AllocatedHosts hosts;
  REQUIRE(hosts.add({.name = "b", .slots = 2}, "x"));
  REQUIRE(hosts.add({.name = "a", .slots = 1}, "x"));
  REQUIRE(hosts.add({.name = "B", .slots = 3}, "y"));
  CHECK(std::move(hosts).finish() ==
        std::vector<Host>{{.name = "b", .slots = 5}, {.name = "a", .slots = 1}});
}

TEST_CASE("a host that one list leaves to its agent is left to it") {
  AllocatedHosts hosts;
  REQUIRE(hosts.add({.name = "a", .slots = 2}, "x"));
  REQUIRE(hosts.add({.name = "a", .slots_without_gpus = 3}, "y"));
  REQUIRE(hosts.add({.name = "a", .slots = 1}, "z"));
  CHECK(std::move(hosts).finish() == std::vector<Host>{{.name = "a", .slots_without_gpus = 6}});
}

TEST_CASE("a list that repeats a host with other slots is refused") {
  AllocatedHosts hosts;
  REQUIRE(hosts.add({.name = "a", .slots = 2}, "x"));
  REQUIRE(hosts.add({.name = "a", .slots = 2}, "x"));
  const auto other = hosts.add({.name = "a", .slots = 3}, "x");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message == "host \"a\" is given with 2 slots and with 3");
  CHECK(std::move(hosts).finish() == std::vector<Host>{{.name = "a", .slots = 2}});
}

TEST_CASE("more hosts than a job can have are refused") {
  AllocatedHosts hosts;
  for (size_t i = 0; i < hosts_max; ++i)
    REQUIRE(hosts.count("n" + std::to_string(i)));
  CHECK(hosts.count("n0"));
  CHECK(hosts.count("m").error().message == "more than 65536 hosts");
}

}  // namespace
}  // namespace dt

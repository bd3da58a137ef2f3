#include "launcher/config/hosts/port_range.h"

#include "base/format.h"
#include "base/io/socket.h"

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <random>
#include <string>

namespace dt {
namespace {

TEST_CASE("parse_port_range: B43") {
  struct Row {
    const char* text;
    std::optional<PortRange> range;
  };
  const Row rows[] = {
      {"5000-5009", PortRange{5000, 5009}},
      {"1024-65535", PortRange{1024, 65535}},
      {"5000-5000", PortRange{5000, 5000}},
      {"5000", PortRange{5000, 5000}},
      {"9-3", std::nullopt},
      {"5009-5000", std::nullopt},
      {"80-90", std::nullopt},
      {"1023-2000", std::nullopt},
      {"70000-80000", std::nullopt},
      {"60000-65536", std::nullopt},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"5000-", std::nullopt},
      {"-5000", std::nullopt},
      {"5000-5009-5010", std::nullopt},
      {"5000:5009", std::nullopt},
      {" 5000-5009", std::nullopt},
      {"5000-99999999999999999999", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(parse_port_range(row.text) == row.range);
  }
}

/// Returns so many adjacent free ports, outside of the kernel's range of automatic ports.
PortRange free_range(int count) {
  std::random_device random;
  for (;;) {
    const auto first = static_cast<uint16_t>(10'000 + random() % 20'000);
    const PortRange range = {first, static_cast<uint16_t>(first + count - 1)};
    if (hold_ports(count, range)) return range;
  }
}

TEST_CASE("hold_ports takes any free ports, or those of the range") {
  CHECK(hold_ports(3, std::nullopt).value().size() == 3);
  const PortRange range = free_range(3);
  const auto held = hold_ports(3, range).value();
  for (int i = 0; i < 3; ++i)
    CHECK(held[static_cast<size_t>(i)].number == range.first + i);
}

TEST_CASE("hold_ports: another job with the same range gets other ports, or an error") {
  const PortRange range = free_range(4);
  const auto first = hold_ports(2, range).value();
  {
    const auto second = hold_ports(2, range).value();
    CHECK(second[0].number == range.first + 2);
    const auto third = hold_ports(1, range);
    REQUIRE(!third);
    CHECK(third.error().message == format("--port-range {}: all 4 ports busy", range.text()));
  }
  const auto more = hold_ports(3, range);
  REQUIRE(!more);
  CHECK(more.error().message ==
        format("--port-range {}: 3 ports are needed, 2 of 4 are free", range.text()));
  const auto most = hold_ports(5, range);
  REQUIRE(!most);
  CHECK(most.error().message ==
        format("--port-range {}: 5 ports are needed, it has 4", range.text()));
}

TEST_CASE("the error of hold_this_port is the reason") {
  const PortRange range = free_range(2);
  const auto held = hold_this_port(range.first).value();
  CHECK(held.number == range.first);
  CHECK(hold_this_port(range.first).error() ==
        Error{Errc::refused,
              format("cannot hold port {}: another dtrain of this host has it for a job",
                     range.first)});
  const Fd other = listen_on({"127.0.0.1", range.last}).value();
  CHECK(hold_this_port(range.last).error() ==
        Error{Errc::refused, format("cannot hold port {}: Address already in use", range.last)});
}

TEST_CASE("hold_this_port does not share a port with a listener that would") {
  const PortRange range = free_range(1);
  const Fd sharing = hold_port(range.first).value();
  CHECK(hold_this_port(range.first));
  REQUIRE(::listen(sharing.get(), 1) == 0);
  CHECK(hold_port(range.first));
  CHECK(hold_this_port(range.first).error() ==
        Error{Errc::refused, format("cannot hold port {}: Address already in use", range.first)});
}

TEST_CASE(
    "hold_ports passes over a port where somebody listens, and names it when it is the only") {
  const PortRange range = free_range(2);
  const Fd other = listen_on({"127.0.0.1", range.first}).value();
  CHECK(hold_ports(1, range).value().front().number == range.last);
  const auto none = hold_ports(1, PortRange{range.first, range.first});
  REQUIRE(!none);
  CHECK(none.error().message == format("--port-range {0}: port {0} is busy", range.first));
}

}  // namespace
}  // namespace dt

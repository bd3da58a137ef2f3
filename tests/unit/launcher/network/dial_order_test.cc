#include "launcher/network/dial_order.h"

#include "base/format.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

DialOrder example() {
  return {.token = Token::random().value(),
          .job = "0123456789abcdef",
          .hosts = {"n1", "n2", "n3", "gpu-a", "n07"},
          .addresses = {{"10.0.0.1", 40000}, {"fd00::1", 40000}},
          .patience = milliseconds(59'500),
          .dead_after = seconds(5)};
}

TEST_CASE("DialOrder: a line of text has all of it") {
  const DialOrder order = example();
  const std::string text = order.text();
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(DialOrder::parse(text).value() == order);
}

TEST_CASE("DialOrder: the names of a thousand hosts in a row take little room") {
  DialOrder order = example();
  order.hosts.clear();
  for (int host = 0; host < 1000; ++host)
    order.hosts.push_back(format("node-of-a-large-cluster-{:04}", host));
  CHECK(order.text().size() < 1000);
  CHECK(DialOrder::parse(order.text()).value() == order);
}

TEST_CASE("DialOrder: both ends of a handshake claim the same, but for themselves") {
  const DialOrder order = example();
  const Claim agent = order.claim_of({std::string(agent_role), 2});
  const Claim launcher = order.claim_of({std::string(launcher_role), 0});
  CHECK(agent.token == launcher.token);
  CHECK(agent.job == launcher.job);
  CHECK(agent.encrypt_data);
  CHECK(launcher.encrypt_data);
  CHECK(agent.self.text() == "agent:2");
}

TEST_CASE("DialOrder: other texts are refused, with what is missing") {
  const auto refused = [](std::string text, std::string_view part, std::string_view by) {
    const size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    text.replace(at, part.size(), by);
    const auto parsed = DialOrder::parse(text);
    REQUIRE_FALSE(parsed.has_value());
    return parsed.error().message;
  };
  const std::string text = example().text();
  CHECK(refused(text, "\"job\"", "\"jab\"") == "no job in the order to dial");
  CHECK(refused(text, "\"hosts\":\"", "\"hosts\":1,\"x\":\"") == "no hosts in the order to dial");
  CHECK(refused(text, "\"10.0.0.1:40000\",\"[fd00::1]:40000\"", "") ==
        "no address in the order to dial");
  CHECK(refused(text, "\"10.0.0.1:40000\"", "7") == "an address that is no text");
  refused(text, "10.0.0.1:40000", "launcher:40000");
  refused(text, "\"token\":\"", "\"token\":\"x");
  CHECK_FALSE(DialOrder::parse("").has_value());
  CHECK_FALSE(DialOrder::parse("exit 0").has_value());
}

}  // namespace
}  // namespace dt

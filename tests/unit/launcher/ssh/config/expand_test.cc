#include "launcher/ssh/config/expand.h"

#include "tests/unit/launcher/ssh/ssh_fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("tokens, variables and ~ are replaced, and a fault names the culprit") {
  using Kind = SshExpansion::Kind;
  struct Case {
    std::string text;
    SshExpansion expansion;
  };
  const Case cases[] = {
      {"", {Kind::done, ""}},
      {"/a/%h-%%-%h", {Kind::done, "/a/node1-%-node1"}},
      {"~", {Kind::done, "/home/me/"}},
      {"~//x", {Kind::done, "/home/me/x"}},
      {"~you/x", {Kind::done, "/home/you/x"}},
      {"x~", {Kind::done, "x~"}},
      {"${SOCK}.${HOME}", {Kind::done, "/run/agent./home/me"}},
      {"$SOCK $ {", {Kind::done, "$SOCK $ {"}},
      {"%q", {Kind::unknown_token, "%q"}},
      {"a%", {Kind::bad, "a % stands at its end"}},
      {"${SOCK", {Kind::bad, "\"${\" is not closed"}},
      {"${}", {Kind::bad, "\"${}\" names no variable"}},
      {"${NO}", {Kind::bad, "the variable NO is not set"}},
      {"~no/x", {Kind::bad, "there is no user no"}},
  };
  const FakeWorld fake;
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const SshExpansion expansion =
        expand_ssh_path(c.text, {{'h', "node1"}}, request_of_me("node1"), fake.world());
    CHECK(expansion.text == c.expansion.text);
    CHECK(expansion.kind == c.expansion.kind);
  }
  CHECK(expand_ssh_tokens("${SOCK}", {}, nullptr).text == "${SOCK}");
}

TEST_CASE("a name is dialed in lower case, an address in its canonical form") {
  CHECK(dialed_name("Node1.Example.org.") == "node1.example.org.");
  CHECK(dialed_name("127.1") == "127.0.0.1");
  CHECK(dialed_name("0x7f000001") == "127.0.0.1");
  CHECK(dialed_name("10.0.0.1 x") == "10.0.0.1 x");
  CHECK(dialed_name("FE80:0::1") == "fe80::1");
  CHECK(dialed_name("") == "");
}

}  // namespace
}  // namespace dt

#include "launcher/ssh/config/route.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

using By = SshRoute::By;

const SshRouteFacts plain = {.library = "libssh2 1.10.0"};

SshRouteFacts with(SshImplementation asked, SshRouteFacts facts) {
  facts.asked = asked;
  return facts;
}

TEST_CASE("libssh2 carries what it can, the OpenSSH client the rest, and the reason is reported") {
  struct Case {
    SshRouteFacts facts;
    SshRoute route;
  };
  const std::string file = "/home/me/.ssh/config:12: proxyjump";
  const Case cases[] = {
      {plain, {By::libssh2, "libssh2 1.10.0"}},
      {with(SshImplementation::libssh2, plain), {By::libssh2, "libssh2 1.10.0"}},
      {with(SshImplementation::openssh, plain), {By::openssh, "--ssh openssh"}},
      {{.library_missing = "no libssh2"}, {By::openssh, "no libssh2"}},
      {{.configuration = file}, {By::openssh, file}},
      {{.known_hosts = "/kh:3: @revoked"}, {By::openssh, "/kh:3: @revoked"}},
      {{.credentials = "no key, but a ticket"}, {By::openssh, "no key, but a ticket"}},
      {{.configuration = file, .known_hosts = "/kh:3: @revoked"}, {By::openssh, file}},
      {{.configuration = "x", .own_key_exchange = true}, {By::openssh_plain, "x"}},
      {{.asked = SshImplementation::openssh, .own_key_exchange = true},
       {By::openssh_plain, "--ssh openssh"}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.route.why);
    CHECK(choose_ssh_route(c.facts).value() == c.route);
  }
}

TEST_CASE("--ssh libssh2 fails with the reason why it cannot") {
  for (SshRouteFacts facts :
       {SshRouteFacts{.configuration = "c:1: proxyjump"},
        SshRouteFacts{.known_hosts = "k:2: @revoked"}, SshRouteFacts{.credentials = "no key"}}) {
    facts.asked = SshImplementation::libssh2;
    const auto route = choose_ssh_route(facts);
    REQUIRE(!route);
    CHECK(route.error().message == "--ssh libssh2 cannot reach it: " + facts.configuration +
                                       facts.known_hosts + facts.credentials +
                                       "; use --ssh auto or openssh");
  }
}

TEST_CASE("after a try comes another that may go better, or none") {
  struct Case {
    SshImplementation asked;
    SshTryEnd end;
    std::optional<By> next;
  };
  const Case cases[] = {
      {SshImplementation::automatic, {.by = By::libssh2}, std::nullopt},
      {SshImplementation::automatic, {.by = By::libssh2, .again = true}, By::libssh2},
      {SshImplementation::automatic, {.by = By::libssh2, .elsewhere = true}, By::openssh},
      {SshImplementation::libssh2, {.by = By::libssh2, .elsewhere = true}, std::nullopt},
      {SshImplementation::automatic, {.by = By::openssh}, std::nullopt},
      {SshImplementation::openssh, {.by = By::openssh, .again = true}, By::openssh},
      {SshImplementation::openssh, {.by = By::openssh, .elsewhere = true}, By::openssh_plain},
      {SshImplementation::openssh, {.by = By::openssh_plain, .elsewhere = true}, std::nullopt},
      {SshImplementation::automatic, {.by = By::program, .again = true}, By::program},
  };
  for (const Case& c : cases) {
    const auto next = next_ssh_try(with(c.asked, plain), c.end);
    REQUIRE(next.has_value() == c.next.has_value());
    if (next) CHECK(next->by == *c.next);
  }
}

TEST_CASE("the client that takes over exchanges keys as configured") {
  const SshRouteFacts facts = {.own_key_exchange = true};
  const auto next =
      next_ssh_try(facts, {.by = By::libssh2, .elsewhere = true, .why = "it takes certificates"});
  CHECK(next == SshRoute{By::openssh_plain, "it takes certificates"});
}

}  // namespace
}  // namespace dt

#include "comm/peer/rendezvous_wait.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a request gets its reply, its error, or a timeout") {
  RendezvousFixture rendezvous(table_of_workers(1));
  const auto client = rendezvous.join_worker(0);
  REQUIRE(ask_rendezvous(*client, SetRequest{"key", to_bytes("value")}, soon()));
  const Result<Reply> got = ask_rendezvous(*client, GetRequest{"key"}, soon());
  REQUIRE(got);
  CHECK(got->value == to_bytes("value"));
  CHECK_FALSE(ask_rendezvous(*client, AddRequest{"key", 1}, soon()));
  const Result<Reply> late =
      ask_rendezvous(*client, WaitRequest{"other", seconds(30)}, Clock::now() + milliseconds(20));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::timeout);
  CHECK(ask_rendezvous(*client, GetRequest{"key"}, soon()));
}

TEST_CASE("a key has its value, or none after a short wait") {
  RendezvousFixture rendezvous(table_of_workers(1));
  const auto client = rendezvous.join_worker(0);
  const auto call = [&](const Request& request, Time deadline) {
    return ask_rendezvous(*client, request, deadline);
  };
  CHECK(must(ask_for_key(call, "key", Clock::now())) == std::nullopt);
  must(ask_rendezvous(*client, SetRequest{"key", to_bytes("value")}, soon()));
  CHECK(must(ask_for_key(call, "key", soon())) == to_bytes("value"));
}

}  // namespace
}  // namespace dt

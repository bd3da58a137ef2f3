#include "comm/ps/rendezvous_wait.h"

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

}  // namespace
}  // namespace dt

#include "rendezvous/store/local_store.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const Time local_start = Time() + seconds(1000);

TEST_CASE("the store of a task that is alone replies at once to all but a wait") {
  LocalStore store;
  const auto ask = [&](const Request& request) {
    return store.take_reply(store.post(request, local_start).value());
  };
  CHECK(ask(GetRequest{"k"}) == Reply{});
  CHECK(ask(AddRequest{"n", 4}) == Reply{.number = 4});
  const uint32_t waiting = store.post(WaitRequest{"k", seconds(5)}, local_start).value();
  CHECK(!store.take_reply(waiting));
  CHECK(ask(SetRequest{"k", to_bytes("v"), Lifetime::job}) == Reply{});
  CHECK(store.take_reply(waiting) == Reply{});
  CHECK(!store.take_reply(waiting));
  CHECK(ask(GetRequest{"k"}) == Reply{.value = to_bytes("v")});
  CHECK(store.next_deadline() == Time::max());
}

TEST_CASE("its waits end at their deadline, and one that is forgotten has no reply") {
  LocalStore store;
  const uint32_t first = store.post(WaitRequest{"a", seconds(1)}, local_start).value();
  const uint32_t second = store.post(WaitRequest{"b", seconds(1)}, local_start).value();
  store.forget(second);
  CHECK(store.next_deadline() == local_start + seconds(1));
  store.expire(local_start + seconds(1) - Duration(1));
  CHECK(!store.take_reply(first));
  store.expire(local_start + seconds(1));
  const Reply late = {.error = Error{Errc::timeout, "timed out waiting for key 'a'"}};
  CHECK(store.take_reply(first) == late);
  CHECK(!store.take_reply(second));
}

}  // namespace
}  // namespace dt

#include "comm/peer/rendezvous_view.h"

#include "rendezvous/secure/dial.h"
#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <thread>

namespace dt {
namespace {

TEST_CASE("a view of its own has the job's tasks, replies and notices") {
  RendezvousFixture rendezvous(table_of_workers(2));
  ClientRendezvousView view(rendezvous.join_worker(0));
  CHECK(view.self().id == TaskId{"worker", 0});
  CHECK(view.table().tasks.size() == 2);
  REQUIRE(view.ask(SetRequest{"key", to_bytes("value")}, soon()));
  CHECK(view.ask(GetRequest{"key"}, soon()).value().value == to_bytes("value"));
  rendezvous.notify({Notice::Kind::dead, {"worker", 1}, "killed"});
  std::optional<Notice> notice;
  for (const Time end = soon(); !notice && Clock::now() < end;) {
    REQUIRE(view.refresh());
    notice = view.next_notice();
  }
  REQUIRE(notice);
  CHECK(notice->task == TaskId{"worker", 1});
  rendezvous.stop();
  Result<> refreshed;
  for (const Time end = soon(); refreshed && Clock::now() < end;)
    refreshed = view.refresh();
  CHECK_FALSE(refreshed);
}

TEST_CASE("threads share one connection, and each gets its replies and all notices") {
  RendezvousFixture rendezvous(table_of_workers(2));
  ClientRendezvousView first(rendezvous.join_worker(0));
  const std::unique_ptr<RendezvousView> second = must(first.another());
  CHECK(second->self().id == TaskId{"worker", 0});
  REQUIRE(first.ask(SetRequest{"own", to_bytes("value")}, soon()));
  // The second one waits for a key, while the first one sends requests and reads what comes.
  std::thread waiter([&] {
    const Result<Reply> reply = second->ask(CollectRequest{"late", 1, seconds(20)}, soon());
    REQUIRE(reply);
    CHECK(decode_entries(reply->value.value()).value().size() == 1);
  });
  for (int i = 0; i < 100; ++i)
    CHECK(first.ask(GetRequest{"own"}, soon()).value().value == to_bytes("value"));
  REQUIRE(first.ask(SetRequest{"late", {}}, soon()));
  waiter.join();

  rendezvous.notify({Notice::Kind::dead, {"worker", 1}, "killed"});
  std::optional<Notice> notice;
  for (const Time end = soon(); !notice && Clock::now() < end;) {
    REQUIRE(first.refresh());
    notice = first.next_notice();
  }
  REQUIRE(notice);
  // The first one has read it, so only its ring wakes the second.
  REQUIRE(await_readiness(second->fd(), POLLIN, soon()).value());
  REQUIRE(second->refresh());
  CHECK(second->next_notice() == notice);
  CHECK_FALSE(second->next_notice());
  CHECK_FALSE(await_readiness(second->fd(), POLLIN, Clock::now()).value());
  // One that is made later has them, too.
  const std::unique_ptr<RendezvousView> third = must(second->another());
  CHECK(third->next_notice() == notice);
}

TEST_CASE("the end of the launcher reaches each thread that shares the connection") {
  RendezvousFixture rendezvous(table_of_workers(1));
  auto first = std::make_unique<ClientRendezvousView>(rendezvous.join_worker(0));
  const std::unique_ptr<RendezvousView> second = must(first->another());
  rendezvous.stop();
  Result<> refreshed;
  for (const Time end = soon(); refreshed && Clock::now() < end;)
    refreshed = first->refresh();
  CHECK_FALSE(refreshed);
  first.reset();
  REQUIRE(await_readiness(second->fd(), POLLIN, soon()).value());
  CHECK_FALSE(second->refresh());
  CHECK_FALSE(second->ask(GetRequest{"key"}, soon()));
}

}  // namespace
}  // namespace dt

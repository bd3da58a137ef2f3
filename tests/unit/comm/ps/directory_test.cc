#include "comm/ps/directory.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a directory of its own has the job's tasks, replies and notices") {
  RendezvousFixture rendezvous(table_of_workers(2));
  RendezvousDirectory directory(rendezvous.join_worker(0));
  CHECK(directory.self().id == TaskId{"worker", 0});
  CHECK(directory.table().tasks.size() == 2);
  REQUIRE(directory.ask(SetRequest{"key", to_bytes("value")}, soon()));
  CHECK(directory.ask(GetRequest{"key"}, soon()).value().value == to_bytes("value"));
  rendezvous.notify({Notice::Kind::dead, {"worker", 1}, "killed"});
  std::optional<Notice> notice;
  for (const Time end = soon(); !notice && Clock::now() < end;) {
    REQUIRE(directory.refresh());
    notice = directory.next_notice();
  }
  REQUIRE(notice);
  CHECK(notice->task == TaskId{"worker", 1});
  rendezvous.stop();
  Result<> refreshed;
  for (const Time end = soon(); refreshed && Clock::now() < end;)
    refreshed = directory.refresh();
  CHECK_FALSE(refreshed);
}

}  // namespace
}  // namespace dt

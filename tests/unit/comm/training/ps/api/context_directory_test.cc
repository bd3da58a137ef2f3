#include "comm/api/api_support.h"
#include "comm/training/ps/api/context_rendezvous_view.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <thread>

namespace dt {
namespace {

TEST_CASE("a context gives the job's tasks, replies and notices, also after a rank's death") {
  World world({.size = 2, .per_host = 1});
  const auto outcomes = world.run([&](dtrain::Context& context) {
    const int rank = context.rank();
    ContextRendezvousView directory(context.get()->context);
    CHECK(directory.self().rank == rank);
    CHECK(directory.table().tasks.size() == 2);
    CHECK(directory.fd() == -1);
    if (rank != 0) return;
    REQUIRE(directory.ask(SetRequest{"key", to_bytes("value")}, soon()));
    world.server().notify({Notice::Kind::dead, {"worker", 1}, "killed"});
    std::optional<Notice> notice;
    for (const Time end = soon(); !notice && Clock::now() < end;) {
      CHECK(directory.ask(GetRequest{"key"}, soon()).value().value == to_bytes("value"));
      REQUIRE(directory.refresh());
      notice = directory.next_notice();
    }
    REQUIRE(notice);
    CHECK(notice->cause == "killed");
    CHECK_FALSE(directory.next_notice());
    // A wait of this kind outlives the death, and ends at its own limit.
    const Result<Reply> waited = directory.ask(CollectRequest{"none", 1, milliseconds(20)}, soon());
    REQUIRE(waited);
    CHECK(decode_entries(waited->value.value()).value().empty());
  });
  check_all_well(outcomes);
}

}  // namespace
}  // namespace dt

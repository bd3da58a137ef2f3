#include "comm/training/ps/api/context_rendezvous_view.h"

#include "comm/api/api_support.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <thread>

namespace dt {
namespace {

TEST_CASE("a context gives the job's tasks, replies and notices, also after a rank's death") {
  World world({.size = 2, .per_host = 1});
  const auto outcomes = world.run([&](dtrain::Context& context) {
    const int rank = context.rank();
    ContextRendezvousView view(context.get()->context);
    CHECK(view.self().rank == rank);
    CHECK(view.table().tasks.size() == 2);
    CHECK(view.fd() == -1);
    if (rank != 0) return;
    REQUIRE(view.ask(SetRequest{"key", to_bytes("value")}, soon()));
    world.server().notify({Notice::Kind::dead, {"worker", 1}, "killed"});
    std::optional<Notice> notice;
    for (const Time end = soon(); !notice && Clock::now() < end;) {
      CHECK(view.ask(GetRequest{"key"}, soon()).value().value == to_bytes("value"));
      REQUIRE(view.refresh());
      notice = view.next_notice();
    }
    REQUIRE(notice);
    CHECK(notice->cause == "killed");
    CHECK_FALSE(view.next_notice());
    // A wait of this kind outlives the death, and ends at its own limit.
    const Result<Reply> waited = view.ask(CollectRequest{"none", 1, milliseconds(20)}, soon());
    REQUIRE(waited);
    CHECK(decode_entries(waited->value.value()).value().empty());
  });
  check_all_well(outcomes);
}

}  // namespace
}  // namespace dt

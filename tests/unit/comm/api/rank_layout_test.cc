#include "comm/api/rank_layout.h"

#include "tests/unit/rendezvous/fixture.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <utility>

namespace dt {
namespace {

TEST_CASE("a task's layout follows from the table") {
  struct Case {
    int rank;
    RankLayout layout;
  };
  // Hosts with 2, 1 and 2 ranks.
  TaskTable table = table_of_workers(5);
  const int agents[] = {7, 7, 2, 5, 5};
  for (size_t i = 0; i < 5; ++i)
    table.tasks[i].agent = agents[i];
  table.tasks.push_back({.id = {"ps", 0}, .rank = -1, .agent = 7, .host = "h", .addresses = {}});
  const Case cases[] = {{0, {0, 5, 0, 2, 0, 3, "node0"}},
                        {1, {1, 5, 1, 2, 0, 2, "node1"}},
                        {2, {2, 5, 0, 1, 1, 3, "node2"}},
                        {3, {3, 5, 0, 2, 2, 3, "node3"}},
                        {4, {4, 5, 1, 2, 1, 2, "node4"}}};
  for (const Case& c : cases) {
    CAPTURE(c.rank);
    CHECK(rank_layout(table, *table.by_rank(c.rank)).value() == c.layout);
  }
  const auto unranked = rank_layout(table, table.tasks.back());
  REQUIRE(!unranked);
  CHECK(unranked.error().message ==
        "ps:0 has no rank in this job, so it cannot train; add --strategy parameter_server: "
        "dtrain's own server then runs for the role ps");
  table.tasks.back().id.role = "eval";
  CHECK(rank_layout(table, table.tasks.back()).error().message ==
        "eval:0 has no rank in this job, so it cannot train; --role-ranked eval gives its role "
        "ranks");
  table.tasks[1].rank = 9;
  CHECK(rank_layout(table, table.tasks[0]).error().code == Errc::protocol);
}

}  // namespace
}  // namespace dt

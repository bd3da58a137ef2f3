#include "launcher/job/last_signs.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("LastSigns: the tasks that still ran, their silence and their state") {
  Plan plan;
  plan.hosts = {{.host = {.name = "node1"}}, {.host = {.name = "node2"}}};
  for (int rank = 0; rank < 10; ++rank)
    plan.tasks.push_back({.id = {"worker", rank}, .rank = rank, .agent = rank % 2});
  plan.tasks.push_back({.id = {"ps", 0}, .agent = 1});
  const Time start;
  LastSigns signs(plan.tasks.size(), start);
  signs.wrote(1, start + seconds(19));
  signs.seen(0, {.pid = 7, .letter = 'S', .waits_at = "futex_wait"});
  signs.seen(1, {.pid = 8, .letter = 'R'});
  using Lines = std::vector<std::string>;
  CHECK(signs.lines(plan, {0, 1, 10}, start + milliseconds(19500)) ==
        Lines{"rank 0 on node1: silent for 19 s, in futex_wait",
              "rank 1 on node2: still writing, running", "ps:0 on node2: silent for 19 s"});
  signs.seen(2, {.pid = 9, .letter = 'S', .waits_at = "hrtimer_nanosleep"});
  CHECK(signs.lines(plan, {2}, start) == Lines{"rank 2 on node1: no output yet, sleeping"});
  const Lines all = signs.lines(plan, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, start);
  CHECK(all.size() == 9);
  CHECK(all.back() == "and 2 more");
}

}  // namespace
}  // namespace dt

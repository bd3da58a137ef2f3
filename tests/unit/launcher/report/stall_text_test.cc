#include "launcher/report/stall_text.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

Plan plan_of_four() {
  Plan plan;
  plan.hosts = {{.host = {.name = "a", .slots = 2}}, {.host = {.name = "b", .slots = 2}}};
  for (int rank = 0; rank < 4; ++rank)
    plan.add({.id = {"worker", rank}, .rank = rank, .agent = rank / 2});
  return plan;
}

/// Ranks 0 and 1 wait for rank 2 for 30.04 s.
StallRecord stall_of_rank_2() {
  return {.operation = "all_reduce #12 \"g\"",
          .last_before = "barrier #11",
          .began = Time(seconds(100)),
          .noticed = Time(milliseconds(130'040)),
          .waiting = {{0, {2}}, {1, {2}}},
          .missing = {{.rank = 2, .state = {77, 'S', "pipe_read"}}}};
}

TEST_CASE("rank_list_text joins ranks to ranges, and counts those behind the fourth") {
  CHECK(rank_list_text({3}) == "rank 3");
  CHECK(rank_list_text({1, 0}) == "ranks 0, 1");
  CHECK(rank_list_text({5, 0, 2, 1}) == "ranks 0-2, 5");
  CHECK(rank_list_text({0, 2, 4, 6, 8, 10, 11}) == "ranks 0, 2, 4, 6 and 3 more");
}

TEST_CASE("a stall's text has its ranks, what the missing one does, and what to do") {
  CHECK(stall_text(stall_of_rank_2(), plan_of_four()) ==
        "all_reduce #12 \"g\" stalls for 30.0s: ranks 0, 1 wait for rank 2\n"
        "  rank 2 (host b, pid 77) is in no call of libdtrain since barrier #11, or hangs in one; "
        "its process sleeps (in pipe_read)\n"
        "  gdb -p 77 on b shows where (py-spy dump --pid, for Python); the job waits, --timeout "
        "would end it");
}

TEST_CASE("a stopped rank's line and the advice name the signal that continues it") {
  StallRecord stall = stall_of_rank_2();
  stall.group = 3;
  stall.waiting = {{1, {2}}};
  stall.missing[0].state.letter = 'T';
  CHECK(stall_text(stall, plan_of_four()) ==
        "all_reduce #12 \"g\" of group 3 stalls for 30.0s: rank 1 waits for rank 2\n"
        "  rank 2 (host b, pid 77) does not answer since barrier #11; its process is stopped by a "
        "signal\n"
        "  kill -CONT 77 on b continues it; the job waits, --timeout would end it");
}

TEST_CASE("missing ranks are described by what is known of them") {
  StallRecord stall = stall_of_rank_2();
  stall.last_before.clear();
  stall.missing = {{.rank = 2}, {.rank = 3, .waits_in = "receive from rank 1", .awaited = {1}}};
  const std::string two = stall_text(stall, plan_of_four());
  CHECK(two.find("wait for ranks 2, 3\n  rank 2 (host b) is in no call of libdtrain, or hangs in "
                 "one\n  rank 3 (host b) waits in receive from rank 1 for rank 1\n  find what rank "
                 "2 does on b;") != std::string::npos);
  stall.missing = {{.rank = 3, .answered = true}};
  CHECK(stall_text(stall, plan_of_four()).find("rank 3 (host b) has no operation under way\n") !=
        std::string::npos);
  stall.missing = {};
  CHECK(stall_text(stall, plan_of_four()).find("wait for each other\n  no data moves") !=
        std::string::npos);
}

TEST_CASE("a stall's text never has more than four lines") {
  StallRecord stall = stall_of_rank_2();
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(std::ranges::count(stall_text(stall, plan_of_four()), '\n') <= 3);
    stall.missing.push_back({.rank = rank});
  }
  CHECK(
      stall_text(stall, plan_of_four()).find("\n  ranks 0-3 too: --report has what each does\n") !=
      std::string::npos);
}

TEST_CASE("the text of a stall's end has its whole time") {
  StallRecord stall = stall_of_rank_2();
  stall.ended = stall.began + seconds(75);
  CHECK(stall_end_text(stall) == "all_reduce #12 \"g\" stalls no more, after 75.0s");
}

TEST_CASE("a stall in JSON has all members, null where nothing is known") {
  StallRecord stall = stall_of_rank_2();
  stall.missing.push_back({.rank = 3, .waits_in = "x", .awaited = {1}, .answered = true});
  CHECK(stall_json(stall, plan_of_four(), Time(seconds(99))).text() ==
        R"({"operation":"all_reduce #12 \"g\"","group":0,"last_before":"barrier #11",)"
        R"("began_at_s":1.0,"ended_at_s":null,)"
        R"("waiting":[{"rank":0,"waits_for":[2]},{"rank":1,"waits_for":[2]}],)"
        R"("missing":[{"rank":2,"host":"b","pid":77,"state":"sleeping","waits_at":"pipe_read",)"
        R"("answered":false,"waits_in":null,"waits_for":[]},)"
        R"({"rank":3,"host":"b","pid":null,"state":null,"waits_at":null,)"
        R"("answered":true,"waits_in":"x","waits_for":[1]}]})");
}

}  // namespace
}  // namespace dt

#include "launcher/job/stall_watch.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

using Ranks = std::vector<int>;
using Steps = StallWatch::Steps;

WaitReport waits_for(Duration waited, std::vector<int32_t> awaited,
                     const std::string& operation = "barrier #2") {
  return {{{.operation = operation,
            .waited = waited,
            .awaited = std::move(awaited),
            .last_before = "barrier #1"}}};
}

struct Fixture {
  Steps reported(int rank, WaitReport report) {
    return watch.reported(rank, std::move(report), now);
  }
  /// Reports a long wait of rank 0 for rank 1, which begins a stall.
  void begin() { REQUIRE(reported(0, waits_for(seconds(30), {1})).query); }
  /// Lets time pass to the next deadline.
  Steps next() {
    REQUIRE(watch.next_deadline() < Time::max());
    now = watch.next_deadline();
    return watch.tick(now);
  }
  static Ranks missing(const StallRecord& stall) {
    Ranks ranks;
    for (const MissingRank& rank : stall.missing)
      ranks.push_back(rank.rank);
    return ranks;
  }

  StallWatch watch{seconds(30)};
  Time now = Time(seconds(1000));
};

TEST_CASE_FIXTURE(Fixture, "a stall is logged once, when ranks and agents have answered") {
  begin();
  CHECK(watch.next_deadline() == now + StallWatch::gathering_time);
  CHECK(!reported(2, waits_for(seconds(31), {0})).began);
  const Steps gathered = next();
  CHECK(gathered.inspect == Ranks{1});
  CHECK(!gathered.began);
  const Steps steps = watch.inspected({{1, {77, 'T', ""}}}, now);
  REQUIRE(steps.began);
  CHECK(steps.began->operation == "barrier #2");
  CHECK(steps.began->last_before == "barrier #1");
  CHECK(steps.began->began == Time(seconds(969)));
  CHECK(steps.began->noticed == now);
  CHECK(steps.began->waiting == std::vector<StallRecord::Waiter>{{0, {1}}, {2, {0}}});
  REQUIRE(missing(*steps.began) == Ranks{1});
  CHECK(steps.began->missing[0].state == ProcessState{77, 'T', ""});
  CHECK(!steps.began->missing[0].answered);
  CHECK(watch.next_deadline() == Time::max());
  // Further reports of the same stall change nothing.
  CHECK(!reported(3, waits_for(seconds(30), {1})).query);
}

TEST_CASE_FIXTURE(Fixture,
                  "the operation in which most ranks wait is logged, not the first known") {
  reported(3, waits_for(seconds(31), {0}, "receive from rank 0"));
  for (const int rank : {0, 1, 2})
    reported(rank, waits_for(seconds(30), {3}));
  next();
  const Steps steps = watch.inspected({{3, {77, 'S', ""}}}, now);
  REQUIRE(steps.began);
  CHECK(steps.began->operation == "barrier #2");
  CHECK(steps.began->waiting == std::vector<StallRecord::Waiter>{{0, {3}}, {1, {3}}, {2, {3}}});
  REQUIRE(missing(*steps.began) == Ranks{3});
  CHECK(steps.began->missing[0].waits_in == "receive from rank 0");
}

TEST_CASE_FIXTURE(Fixture, "the end of a stall is logged when its last rank has ended its wait") {
  begin();
  reported(2, waits_for(seconds(1), {0}));
  next();
  watch.inspected({{1, {77, 'S', ""}}}, now);
  now += seconds(12);
  CHECK(!reported(0, {}).ended);
  const Steps steps = reported(2, {});
  REQUIRE(steps.ended);
  CHECK(*steps.ended->ended == now);
  CHECK(steps.ended->began == Time(seconds(970)));
  CHECK(!reported(2, {}).ended);
}

TEST_CASE_FIXTURE(Fixture, "a stall that ends while it is examined is not logged") {
  begin();
  CHECK(!reported(0, {}).ended);
  CHECK(watch.next_deadline() == Time::max());
  begin();
  next();
  CHECK(!reported(0, {}).ended);
  CHECK(!watch.inspected({{1, {77, 'S', ""}}}, now).began);
}

TEST_CASE_FIXTURE(Fixture, "an agent that does not answer delays the log for a second only") {
  begin();
  CHECK(next().inspect == Ranks{1});
  CHECK(!watch.inspected({}, now).began);
  CHECK(watch.next_deadline() == now + StallWatch::inspecting_time);
  const Steps steps = next();
  REQUIRE(steps.began);
  CHECK(steps.began->missing.at(0).state == ProcessState());
}

TEST_CASE_FIXTURE(Fixture, "the end of a rank ends its wait") {
  begin();
  next();
  next();
  CHECK(watch.rank_ended(0, now).ended);
}

TEST_CASE_FIXTURE(Fixture, "a short wait, as the answer to a late query, begins no stall") {
  CHECK(!reported(0, waits_for(seconds(29), {1})).query);
  CHECK(watch.next_deadline() == Time::max());
}

TEST_CASE_FIXTURE(Fixture, "ranks that wait for each other in the operation are not missing") {
  begin();
  reported(1, waits_for(seconds(30), {2}));
  reported(2, waits_for(seconds(30), {0}));
  const Steps steps = next();
  CHECK(steps.inspect.empty());
  REQUIRE(steps.began);
  CHECK(steps.began->missing.empty());
}

TEST_CASE_FIXTURE(Fixture, "ranks that wait elsewhere lead to the rank that does not answer") {
  begin();
  reported(1, waits_for(seconds(3), {2}, "receive from rank 2"));
  CHECK(next().inspect == Ranks{2, 1});
  const Steps steps = watch.inspected({{1, {76, 'S', ""}}, {2, {77, 'S', ""}}}, now);
  REQUIRE(steps.began);
  const MissingRank& second = steps.began->missing.at(1);
  CHECK(second.waits_in == "receive from rank 2");
  CHECK(second.awaited == Ranks{2});
  CHECK(second.answered);
  CHECK(!steps.began->missing.at(0).answered);
}

TEST_CASE_FIXTURE(Fixture, "a rank that answers without a wait is marked so") {
  reported(1, {});
  begin();
  next();
  const Steps old = next();
  REQUIRE(old.began);
  CHECK(old.began->missing.at(0).answered);
  reported(0, {});
  now += seconds(60);
  begin();
  next();
  CHECK(!next().began->missing.at(0).answered);
}

TEST_CASE_FIXTURE(Fixture, "a wait without length explains a rank, and is no stall itself") {
  begin();
  reported(1, waits_for({}, {}, "a wait for the key 'k'"));
  next();
  const Steps steps = watch.inspected({{1, {77, 'S', ""}}}, now);
  REQUIRE(steps.began);
  REQUIRE(missing(*steps.began) == Ranks{1});
  CHECK(steps.began->missing[0].waits_in == "a wait for the key 'k'");
  CHECK(steps.began->missing[0].answered);
  now += seconds(60);
  const Steps end = reported(0, {});
  CHECK(end.ended);
  CHECK(!end.query);
}

TEST_CASE_FIXTURE(Fixture, "when a stall ends, the longest of the other long waits is the next") {
  begin();
  WaitReport two = waits_for(seconds(40), {3}, "send to rank 3");
  two.waits.push_back({.operation = "receive from rank 4", .waited = seconds(50)});
  reported(2, two);
  next();
  next();
  const Steps steps = reported(0, {});
  CHECK(steps.ended);
  CHECK(steps.query);
  next();
  CHECK(reported(2, {}).ended->operation == "receive from rank 4");
}

}  // namespace
}  // namespace dt

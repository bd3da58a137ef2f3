#include "comm/driver/wait_reporter.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

OperationRequest barrier() {
  return {.kind = OperationKind::barrier};
}

/// A store that does not answer.
class NoPort final : public StorePort {
 public:
  Result<uint32_t> post(const Request&, Time) override { return ++last_; }
  std::optional<Reply> take_reply(uint32_t) override { return std::nullopt; }
  void forget(uint32_t) override {}

 private:
  uint32_t last_ = 0;
};

/// Rank 0 of two, whose barriers wait until rank 1 makes the call.
struct Fixture {
  std::optional<WaitReport> update() { return reporter.update(group[0], calls, now); }
  std::optional<WaitReport> update_after(Duration time) {
    now += time;
    return update();
  }
  void begin() {
    group.submit(0, barrier());
    group.settle();
  }
  void end() {
    group.submit(1, barrier());
    group.settle();
  }

  NoPort port;
  StoreCalls calls{port};
  EngineGroup group{2};
  WaitReporter reporter{seconds(30)};
  Time now = Time(seconds(1000));
};

TEST_CASE_FIXTURE(Fixture, "a wait is reported once when it is long, and withdrawn at its end") {
  CHECK(!update());
  CHECK(reporter.next_update() == Time::max());
  begin();
  CHECK(!update());
  CHECK(reporter.next_update() == now + seconds(30));
  CHECK(!update_after(milliseconds(29'999)));
  CHECK(!reporter.must_update());
  const auto report = update_after(milliseconds(1));
  REQUIRE(report);
  CHECK(report->waits ==
        std::vector<RankWait>{{.operation = "barrier #1", .waited = seconds(30), .awaited = {1}}});
  CHECK(reporter.must_update());
  CHECK(reporter.next_update() == Time::max());
  CHECK(!update_after(seconds(30)));
  end();
  CHECK(update() == WaitReport());
  CHECK(!reporter.must_update());
  CHECK(!update());
}

TEST_CASE_FIXTURE(Fixture, "an operation after the other is a new wait") {
  begin();
  CHECK(!update());
  end();
  now += seconds(20);
  begin();
  CHECK(!update());
  CHECK(!update_after(seconds(20)));
  const auto report = update_after(seconds(10));
  REQUIRE(report);
  CHECK(report->waits.at(0).operation == "barrier #2");
  CHECK(report->waits.at(0).last_before == "barrier #1");
}

TEST_CASE_FIXTURE(Fixture, "a query is answered by all waits, or by none at all") {
  reporter.query();
  CHECK(reporter.must_update());
  CHECK(update() == WaitReport());
  begin();
  CHECK(!update());
  now += seconds(2);
  reporter.query();
  const auto report = update();
  REQUIRE(report);
  CHECK(report->waits.at(0).waited == seconds(2));
  CHECK(!update());
  // It is reported again when it has become long.
  const auto later = update_after(seconds(28));
  REQUIRE(later);
  CHECK(later->waits.at(0).waited == seconds(30));
  end();
  CHECK(update() == WaitReport());
}

TEST_CASE_FIXTURE(Fixture, "a query is answered by the keys that are waited for, until they come") {
  StoreCall first{.awaited_key = "epoch"};
  StoreCall second{.awaited_key = "weights"};
  calls.post(first, WaitRequest{"store/epoch", seconds(100)}, now);
  calls.post(second, WaitRequest{"store/weights", seconds(100)}, now);
  CHECK(!update_after(seconds(60)));
  begin();
  CHECK(!update());
  now += seconds(2);
  reporter.query();
  CHECK(update() == WaitReport{{{.operation = "barrier #1", .waited = seconds(2), .awaited = {1}},
                                {.operation = "a wait for the key 'epoch'"},
                                {.operation = "a wait for the key 'weights'"}}});
  CHECK(!update());
  CHECK(reporter.must_update());
  calls.remove(first);
  end();
  CHECK(update() == WaitReport{{{.operation = "a wait for the key 'weights'"}}});
  calls.remove(second);
  CHECK(update() == WaitReport());
  CHECK(!reporter.must_update());
}

TEST_CASE_FIXTURE(Fixture, "after a stop of the process, its waits begin again") {
  begin();
  CHECK(!update());
  CHECK(!update_after(seconds(90)));
  CHECK(reporter.next_update() == now + seconds(30));
  CHECK(update_after(seconds(30)));
}

TEST_CASE_FIXTURE(Fixture, "data that moves begins the wait again") {
  std::vector<float> sum(1'000'000);
  std::vector<float> other(1'000'000);
  group.submit(0, {.kind = OperationKind::all_reduce,
                   .count = sum.size(),
                   .input = sum.data(),
                   .output = sum.data()});
  group.settle();
  CHECK(!update());
  now += seconds(29);
  group.submit(1, {.kind = OperationKind::all_reduce,
                   .count = other.size(),
                   .input = other.data(),
                   .output = other.data()});
  for (int i = 0; i < 2; ++i) {
    group[1].step(group.now);
    group[0].step(group.now);
  }
  CHECK(!update());
  CHECK(reporter.next_update() == now + seconds(30));
}

TEST_CASE_FIXTURE(Fixture, "a report has the longest waits, and not more than its maximum") {
  std::vector<float> value(1);
  for (uint32_t number = 1; number <= 20; ++number) {
    for (int rank = 0; rank < 2; ++rank)
      group[rank].groups().create(number, {0, 1}, group.now);
    group.submit(0, {.kind = OperationKind::barrier, .group = number});
    group.settle();
    CHECK(!update_after(milliseconds(10)));
  }
  const auto report = update_after(seconds(30));
  REQUIRE(report);
  REQUIRE(report->waits.size() == reported_waits_max);
  CHECK(report->waits.front().group == 1);
  CHECK(report->waits.back().group == reported_waits_max);
  CHECK(!update_after(seconds(30)));
}

TEST_CASE("without a time, nothing is reported") {
  EngineGroup group(2);
  NoPort port;
  const StoreCalls calls(port);
  WaitReporter reporter(Duration::zero());
  group.submit(0, barrier());
  group.settle();
  CHECK(!reporter.update(group[0], calls, Time(seconds(1))));
  CHECK(!reporter.update(group[0], calls, Time(seconds(1000))));
  CHECK(reporter.next_update() == Time::max());
}

TEST_CASE_FIXTURE(Fixture, "a wait for the members of a new group is reported as an operation is") {
  const RankWait wait{.operation = "group of [0, 1]", .awaited = {1}};
  reporter.set_group_wait(wait, now);
  CHECK(!update_after(seconds(29)));
  CHECK(reporter.next_update() == now + seconds(1));
  RankWait reported = wait;
  reported.waited = seconds(30);
  CHECK(update_after(seconds(1)) == WaitReport{{reported}});
  CHECK(!update_after(seconds(1)));
  CHECK(reporter.must_update());
  reporter.set_group_wait(std::nullopt, {});
  CHECK(update() == WaitReport());
  CHECK(!update());

  reporter.set_group_wait(wait, now);
  reporter.query();
  reported.waited = seconds(3);
  CHECK(update_after(seconds(3)) == WaitReport{{reported}});
  reporter.set_group_wait(std::nullopt, {});
  CHECK(update() == WaitReport());
}

}  // namespace
}  // namespace dt

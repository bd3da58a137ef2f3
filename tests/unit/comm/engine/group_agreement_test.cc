#include "comm/engine/group_agreement.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace dt {
namespace {

using Work = std::shared_ptr<Operation>;

OperationRequest group_of(std::vector<int> members, Duration timeout = Duration::zero(),
                          std::string name = "") {
  return {.kind = OperationKind::group,
          .name = std::move(name),
          .timeout = timeout,
          .members = std::move(members),
          .result = std::make_shared<OperationResult>()};
}

/// Returns the number of a group that was made; 0 for one that was not.
uint32_t number_of(const Work& made) {
  uint32_t number = 0;
  if (succeeded(made)) std::memcpy(&number, made->request.result->data.get(), sizeof number);
  return number;
}

int bytes_sends(EngineGroup& group, int rank) {
  int sends = 0;
  for (int other = 0; other < group.size(); ++other)
    if (other != rank) sends += group.pipe(rank, other).sends + group.pipe(other, rank).sends;
  return sends;
}

/// Sums 1 over the members of a group; 0 when that fails.
float sum_over(EngineGroup& group, uint32_t number, const std::vector<int>& members) {
  std::vector<float> values(members.size(), 1);
  std::vector<Work> sums;
  for (size_t i = 0; i < members.size(); ++i)
    sums.push_back(group.submit(members[i], {.kind = OperationKind::all_reduce,
                                             .group = number,
                                             .count = 1,
                                             .input = &values[i],
                                             .output = &values[i]}));
  group.settle();
  for (const Work& sum : sums)
    if (!succeeded(sum)) return 0;
  return values[0];
}

TEST_CASE("members make a group alone, and ranks outside send and get nothing") {
  EngineGroup group(4);
  const std::vector<int> members = {3, 1, 0};
  std::vector<Work> made;
  for (const int rank : {1, 3, 0}) {
    for (const Work& earlier : made)
      CHECK(pending(earlier));
    made.push_back(group.submit(rank, group_of(members)));
    group.settle();
  }
  for (const Work& one : made)
    CHECK(number_of(one) == 1);
  CHECK(bytes_sends(group, 2) == 0);
  CHECK(sum_over(group, 1, members) == 3);
  CHECK(group[2].next_group() == 1);
}

TEST_CASE("members use the highest of their numbers, and a rank alone its own") {
  EngineGroup group(3);
  CHECK(number_of(group.submit(0, group_of({0}))) == 0);  // not before a step
  const Work alone = group.submit(0, group_of({0}));
  group.settle();
  CHECK(number_of(alone) == 2);
  const Work first = group.submit(0, group_of({0, 1}));
  const Work second = group.submit(1, group_of({0, 1}));
  group.settle();
  CHECK(number_of(first) == 3);
  CHECK(number_of(second) == 3);
  CHECK(group[1].next_group() == 4);
  const Work other = group.submit(1, group_of({1, 2}));
  const Work third = group.submit(2, group_of({1, 2}));
  group.settle();
  CHECK(number_of(other) == 4);
  CHECK(number_of(third) == 4);
}

TEST_CASE("several groups of one list are made one after the other") {
  EngineGroup group(2);
  std::vector<Work> made;
  for (int i = 0; i < 3; ++i)
    made.push_back(group.submit(0, group_of({0, 1})));
  group.settle();
  for (int i = 0; i < 3; ++i)
    made.push_back(group.submit(1, group_of({0, 1})));
  group.settle();
  for (size_t i = 0; i < made.size(); ++i)
    CHECK(number_of(made[i]) == 1 + i % 3);
}

TEST_CASE("a list that differs fails on every rank of both lists, and they can try again") {
  struct Row {
    std::vector<std::vector<int>> lists;  // by rank
    std::string text;
    int blamed;
  };
  const std::vector<Row> rows = {
      {{{0, 1, 2}, {0, 1}, {0, 1, 2}}, "rank 0 gave [0, 1, 2], rank 1 [0, 1]", 1},
      {{{0, 1, 2}, {0, 1, 2}, {0, 2, 1}}, "rank 0 gave [0, 1, 2], rank 2 [0, 2, 1]", 2},
  };
  for (const Row& row : rows) {
    for (const std::vector<int>& order : {std::vector<int>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
      EngineGroup group(3);
      std::vector<Work> works(3);
      for (const int rank : order) {
        const auto index = static_cast<size_t>(rank);
        works[index] = group.submit(rank, group_of(row.lists[index]));
        group.settle();
      }
      group.pass(milliseconds(200));
      for (const Work& work : works) {
        CHECK(failure(work) == "group: " + row.text);
        REQUIRE(work->outcome);
        CHECK(failure_code(work) == Errc::mismatch);
        CHECK(work->blamed_rank == row.blamed);
      }
      std::vector<Work> again;
      for (const int rank : order)
        again.push_back(group.submit(rank, group_of({0, 1, 2})));
      group.settle();
      for (const Work& work : again)
        CHECK(number_of(work) == 1);
      CHECK(sum_over(group, 1, {0, 1, 2}) == 3);
    }
  }
}

TEST_CASE("lists whose leaders differ fail when the calls are late") {
  EngineGroup group(3);
  const Work zero = group.submit(0, group_of({0, 1, 2}));
  const Work one = group.submit(1, group_of({1, 2}));
  const Work two = group.submit(2, group_of({0, 1, 2}));
  group.settle();
  CHECK(pending(zero));
  CHECK(pending(one));
  group.pass(milliseconds(150));
  for (const Work& work : {zero, one, two}) {
    REQUIRE_FALSE(pending(work));
    CHECK(failure_code(work) == Errc::mismatch);
    CHECK(failure(work).find("[1, 2]") != std::string::npos);
    CHECK(failure(work).find("[0, 1, 2]") != std::string::npos);
  }
}

TEST_CASE("names that differ are a mismatch") {
  EngineGroup group(2);
  const Work zero = group.submit(0, group_of({0, 1}, {}, "rows"));
  const Work one = group.submit(1, group_of({0, 1}, {}, "columns"));
  group.settle();
  CHECK(failure(zero) ==
        "group \"rows\": rank 0 gave [0, 1] and the name \"rows\", rank 1 [0, 1] and the name "
        "\"columns\"");
  CHECK(failure_code(one) == Errc::mismatch);
}

TEST_CASE("a time limit ends the call on every member, and names the missing ranks") {
  // By the rank with the limit: the leader, and another one.
  for (const int limited : {0, 1}) {
    EngineGroup group(3);
    std::vector<Work> works;
    for (const int rank : {0, 1})
      works.push_back(
          group.submit(rank, group_of({0, 1, 2}, rank == limited ? seconds(1) : Duration::zero())));
    group.pass(milliseconds(999));
    for (const Work& work : works)
      CHECK(pending(work));
    group.pass(milliseconds(2));
    for (const Work& work : works) {
      CHECK(failure(work) == "group: timed out after 1s: rank 2 (host n2) has not arrived");
      CHECK(work->blamed_rank == 2);
    }
    // The call that the missing rank makes later has failed, too.
    const Work late = group.submit(2, group_of({0, 1, 2}));
    group.settle();
    CHECK(failure(late) == "group: timed out after 1s: rank 2 (host n2) has not arrived");
    std::vector<Work> again;
    for (const int rank : {2, 0, 1}) {
      again.push_back(group.submit(rank, group_of({0, 1, 2})));
      group.settle();
    }
    for (const Work& work : again)
      CHECK(number_of(work) == 1);
  }
}

TEST_CASE("a leader that has not made the call is named, and its call fails later") {
  EngineGroup group(2);
  const Work one = group.submit(1, group_of({0, 1}, seconds(1)));
  group.pass(milliseconds(1240));
  CHECK(pending(one));
  group.pass(milliseconds(20));
  CHECK(failure(one) == "group: timed out after 1s: rank 0 (host n0) has not arrived");
  const Work zero = group.submit(0, group_of({0, 1}));
  group.settle();
  CHECK(failure(zero) == "group: timed out after 1s: rank 0 (host n0) has not arrived");
}

TEST_CASE("a member whose time ends while the group is made leaves it again") {
  EngineGroup group(2);
  const Work one = group.submit(1, group_of({0, 1}, seconds(1)));
  group.settle();
  group.stopped[0] = true;
  group.pass(milliseconds(999));
  // Rank 0 makes the group, but its answer comes too late.
  group.pipe(0, 1).capacity = 0;
  const Work zero = group.submit(0, group_of({0, 1}));
  group.stopped[0] = false;
  group.settle();
  CHECK(number_of(zero) == 1);
  group.pass(milliseconds(300));
  CHECK(failure_code(one) == Errc::timeout);
  const Work retried = group.submit(1, group_of({0, 1}));
  group.settle();
  group.pipe(0, 1).capacity = 1 << 20;
  group.settle();
  float value = 1;
  const Work sum = group.submit(0, {.kind = OperationKind::all_reduce,
                                    .group = 1,
                                    .count = 1,
                                    .input = &value,
                                    .output = &value});
  group.settle();
  CHECK(failure(sum) == "all_reduce #1: rank 1 (host n1) has finalized the group");
  const Work again = group.submit(0, group_of({0, 1}));
  group.settle();
  CHECK(number_of(retried) == 2);
  CHECK(number_of(again) == 2);
}

TEST_CASE("the member that was lost first is named, not the leader that left because of it") {
  EngineGroup group(3);
  const Work zero = group.submit(0, group_of({0, 1, 2}));
  group.settle();
  for (const int lost : {2, 0}) {
    group.end(lost);
    for (int rank = 0; rank < 2; ++rank)
      if (rank != lost) group.notify(rank, Notice::Kind::left, lost);
    group.pass(seconds(1));
  }
  CHECK(failure(zero) == "group: rank 2 (host n2) has left the job");
  const Work one = group.submit(1, group_of({0, 1, 2}));
  group.settle();
  CHECK(failure(one) == "group: rank 2 (host n2) has left the job");
  CHECK(one->blamed_rank == 2);
}

TEST_CASE("a member that has left or died ends the call") {
  EngineGroup left(3);
  const Work zero = left.submit(0, group_of({0, 1, 2}));
  const Work one = left.submit(1, group_of({0, 1, 2}));
  left.settle();
  left.end(2);
  for (const int rank : {0, 1})
    left.notify(rank, Notice::Kind::left, 2);
  left.pass(seconds(1));
  for (const Work& work : {zero, one}) {
    CHECK(failure(work) == "group: rank 2 (host n2) has left the job");
    CHECK(work->blamed_rank == 2);
  }
  EngineGroup dead(3);
  const Work waits = dead.submit(1, group_of({1, 2}));
  dead.notify(1, Notice::Kind::dead, 0, "killed by SIGKILL");
  CHECK(failure(waits) == "group: rank 0 (host n0) died: killed by SIGKILL");
  const Work after = dead.submit(1, group_of({1, 2}));
  CHECK(failure_code(after) == Errc::peer_lost);
}

TEST_CASE("a late call that arrives behind its group is no other call") {
  EngineGroup group(3);
  group.pipe(1, 2).capacity = 0;
  const Work one = group.submit(1, group_of({0, 1, 2}));
  const Work two = group.submit(2, group_of({0, 1, 2}));
  group.pass(milliseconds(150));  // rank 1 sends its call to rank 2, too
  const Work zero = group.submit(0, group_of({0, 1, 2}));
  group.settle();
  CHECK(number_of(one) == 1);
  CHECK(number_of(two) == 1);
  CHECK(number_of(zero) == 1);
  const Work next = group.submit(2, group_of({1, 2}));
  group.settle();
  group.pipe(1, 2).capacity = 1 << 20;
  group.settle();
  CHECK(pending(next));
  const Work same = group.submit(1, group_of({1, 2}));
  group.settle();
  CHECK(number_of(next) == 2);
  CHECK(number_of(same) == 2);
}

TEST_CASE("a rank waits for the leader, and the leader for the missing ranks") {
  EngineGroup group(3);
  const Work zero = group.submit(0, group_of({2, 1, 0}));
  const Work two = group.submit(2, group_of({2, 1, 0}));
  group.settle();
  CHECK(group[0].awaited(*zero) == std::vector<int>{1});
  CHECK(group[2].awaited(*two) == std::vector<int>{0});
  CHECK_FALSE(group[0].idle());
  std::vector<PendingWait> waits;
  group[0].add_waits(waits);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].operation == zero.get());
}

TEST_CASE("numbers that are used up are an error on every member") {
  EngineGroup group(2);
  group[1].create_group(Groups::numbers_max - 1, {1}, group.now);
  const Work zero = group.submit(0, group_of({0, 1}));
  const Work one = group.submit(1, group_of({0, 1}));
  group.settle();
  for (const Work& work : {zero, one}) {
    CHECK(failure(work) ==
          "group: this job has made 524,287 groups already, and no more are possible");
    CHECK(failure_code(work) == Errc::unsupported);
  }
}

}  // namespace
}  // namespace dt

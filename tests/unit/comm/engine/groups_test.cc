#include "comm/engine/groups.h"

#include "comm/collective/group_peers.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

OperationRequest sum_in(uint32_t group, std::vector<float>& values) {
  return {.kind = OperationKind::all_reduce,
          .group = group,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

OperationRequest message(OperationKind kind, int peer, std::vector<float>& values) {
  return {.kind = kind,
          .group = 1,
          .peer = peer,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

TEST_CASE("a stream has the group's number, and tells neighbouring collectives apart") {
  Peers peers({.rank = 1}, std::vector<Engine::Peer>(4));
  const GroupPeers group(peers, 77, {3, 1});
  CHECK(group.rank() == 1);
  CHECK(group.rank_of(3) == 0);
  CHECK(group.rank_of(2) == -1);
  CHECK(group.job_rank(0) == 3);
  for (const uint64_t sequence : {uint64_t{1}, uint64_t{4095}, uint64_t{1} << 40}) {
    CHECK(GroupPeers::group_of(group.stream(sequence)) == 77);
    CHECK(group.stream(sequence) != group.stream(sequence + 1));
  }
  const GroupPeers last(peers, GroupPeers::groups_max - 1, {1});
  CHECK(GroupPeers::group_of(last.stream(4095)) == GroupPeers::groups_max - 1);
}

TEST_CASE("a member that makes its group late finds the calls of the others") {
  EngineGroup group(3);
  std::vector<float> one = {1};
  std::vector<float> two = {2};
  for (const int rank : {0, 2})
    CHECK(group[rank].groups().next_number() == 1);
  group[2].groups().create(1, {0, 2}, group.now);
  const auto early = group.submit(2, sum_in(1, two));
  group.settle();
  CHECK(pending(early));
  group[0].groups().create(1, {0, 2}, group.now);
  CHECK(group[0].groups().next_number() == 2);
  const auto late = group.submit(0, sum_in(1, one));
  group.settle();
  CHECK(failure(early) == "ok");
  CHECK(failure(late) == "ok");
  CHECK(one[0] == 3);
  CHECK(two[0] == 3);
}

TEST_CASE("a group does not wait for another one's operation") {
  EngineGroup group(2);
  for (int rank = 0; rank < 2; ++rank)
    group[rank].groups().create(4, {1, 0}, group.now);
  std::vector<float> world = {1};
  std::vector<std::vector<float>> values = {{1}, {2}};
  const auto waiting = group.submit(0, sum_in(0, world));
  const auto first = group.submit(0, sum_in(4, values[0]));
  const auto second = group.submit(1, sum_in(4, values[1]));
  group.settle();
  CHECK(pending(waiting));
  CHECK(failure(first) == "ok");
  CHECK(failure(second) == "ok");
  CHECK(values[0][0] == 3);
}

TEST_CASE("operations of a group that was left fail, and no other ones") {
  EngineGroup group(2);
  for (int rank = 0; rank < 2; ++rank)
    group[rank].groups().create(1, {0, 1}, group.now);
  std::vector<float> values = {1};
  const auto own = group.submit(0, sum_in(1, values));
  group[0].leave_group(1);
  CHECK(failure(own) == "all_reduce #1: the group has been finalized");
  std::vector<float> other = {1};
  const auto others = group.submit(1, sum_in(1, other));
  const auto after = group.submit(0, sum_in(1, values));
  CHECK(failure(after) == "all_reduce: the group has been finalized");
  group.settle();
  CHECK(failure(others) == "all_reduce #1: rank 0 (host n0) has finalized the group");
  CHECK(others->blamed_rank == 0);
  const auto world = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  for (const auto& barrier : world)
    CHECK(failure(barrier) == "ok");
}

TEST_CASE("messages with a member that has left its group fail, and no other ones") {
  EngineGroup group(3);
  for (int rank = 0; rank < 3; ++rank)
    group[rank].groups().create(1, {2, 1, 0}, group.now);
  std::vector<float> from_leaver(4);
  std::vector<float> to_leaver(4);
  std::vector<float> between = {1, 2, 3, 4};
  std::vector<float> got(4);
  const auto receiving = group.submit(1, message(OperationKind::receive, 2, from_leaver));
  const auto sending = group.submit(1, message(OperationKind::send, 2, to_leaver));
  const auto other_send = group.submit(1, message(OperationKind::send, 0, between));
  group.settle();
  const auto own = group.submit(0, message(OperationKind::send, 0, from_leaver));
  group[0].leave_group(1);
  group.settle();
  CHECK(failure(own) == "send to rank 2: the group has been finalized");
  CHECK(failure(receiving) == "receive from rank 0: rank 0 (host n0) has finalized the group");
  CHECK(failure_code(receiving) == Errc::peer_lost);
  CHECK(failure(sending) == "send to rank 0: rank 0 (host n0) has finalized the group");
  CHECK(failure_code(sending) == Errc::peer_lost);
  CHECK(pending(other_send));
  const auto later = group.submit(1, message(OperationKind::receive, 2, from_leaver));
  CHECK(failure(later) == "receive from rank 0: rank 0 (host n0) has finalized the group");
  CHECK(later->blamed_rank == 0);
  const auto other_receive = group.submit(2, message(OperationKind::receive, 1, got));
  group.settle();
  CHECK(failure(other_send) == "ok");
  CHECK(failure(other_receive) == "ok");
  CHECK(got == between);
}

TEST_CASE("operations of a group that is made after a death fail with the death") {
  EngineGroup group(2);
  group.notify(0, Notice::Kind::dead, 1, "killed by SIGKILL");
  group[0].groups().create(1, {0, 1}, group.now);
  std::vector<float> values = {1};
  const auto sum = group.submit(0, sum_in(1, values));
  CHECK(failure(sum) == "all_reduce #1: rank 1 (host n1) died: killed by SIGKILL");
}

TEST_CASE(
    "a group on one host executes in its memory, and over links when a member has none left") {
  EngineGroup group(3, seconds(5), EngineGroup::Hosts::one);
  for (int i = 1; i < AreaPool::parts_max; ++i)
    CHECK(group[2].groups().reserve_place() >= 0);
  for (const uint32_t number : {1U, 2U}) {
    group.create(number, {2, 0});
    const bool memory = number == 1;
    CHECK(group[0].algorithms_text(number).starts_with("all_reduce=shm") == memory);
    CHECK(group[2].algorithms_text(number).starts_with("all_reduce=shm") == memory);
    std::vector<float> two = {2};
    std::vector<float> zero = {10};
    const auto first = group.submit(2, sum_in(number, two));
    group.settle();
    CHECK(pending(first));
    const auto second = group.submit(0, sum_in(number, zero));
    group.settle();
    CHECK(succeeded(first));
    CHECK(succeeded(second));
    CHECK(two == std::vector<float>{12});
    CHECK(zero == two);
    OperationRequest named = sum_in(number, two);
    named.name = "gradient";
    OperationRequest other = sum_in(number, zero);
    other.name = named.name;
    const auto by_name = group.submit(2, named);
    group.submit(0, other);
    group.settle();
    CHECK(succeeded(by_name));
    CHECK(two == std::vector<float>{24});
  }
  // The part of a group that all have left is used again.
  for (const int rank : {0, 2})
    group[rank].leave_group(1);
  group.create(3, {0, 2});
  CHECK(group[0].algorithms_text(3).starts_with("all_reduce=shm"));
}

TEST_CASE("a group of members on several hosts meets in the memory of each") {
  EngineGroup group(std::vector{3, 2});
  group.create(1, {4, 1, 3, 0});
  std::vector<std::vector<float>> values;
  std::vector<std::shared_ptr<Operation>> sums;
  for (const int rank : {0, 1, 3, 4})
    values.push_back({static_cast<float>(rank), 1});
  for (size_t i = 0; i < 4; ++i)
    sums.push_back(group.submit(std::vector{0, 1, 3, 4}[i], sum_in(1, values[i])));
  group.settle();
  for (size_t i = 0; i < 4; ++i) {
    CHECK(failure(sums[i]) == "ok");
    CHECK(values[i] == std::vector<float>{8, 4});
  }
  CHECK(group[1].algorithms_text(1).starts_with("all_reduce=hierarchical,"));
}

TEST_CASE("groups without a common member use the same host's memory side by side") {
  EngineGroup group(4, seconds(5), EngineGroup::Hosts::one);
  group.create(1, {0, 1});
  for (const int rank : {2, 3})
    group[rank].groups().next_number();
  group.create(1, {2, 3});
  std::vector<std::vector<float>> values = {{1}, {2}, {30}, {40}};
  for (const int rank : {0, 2, 1, 3})
    group.submit(rank, sum_in(1, values[static_cast<size_t>(rank)]));
  group.settle();
  CHECK(values == std::vector<std::vector<float>>{{3}, {3}, {70}, {70}});
}

TEST_CASE("calls by name in a group that a rank makes after a death leave nothing behind") {
  EngineGroup group(2);
  group[1].groups().create(1, {0, 1}, group.now);
  std::vector<float> values = {1};
  OperationRequest named = sum_in(1, values);
  named.name = "gradient";
  group.submit(1, named);
  group.settle();
  group[0].launcher_lost(group.now);
  group[0].groups().create(1, {0, 1}, group.now);
  CHECK(group[0].groups().named_entries() == 0);
}

/// In each group, rank 0 gets the last step's frame before the step that it waits for. The frame
/// comes on the same link as that of the other group.
TEST_CASE("two groups whose early data blocks each other's links do not wait for ever") {
  EngineGroup group(6);
  const std::vector<int> first = {4, 2, 1, 0};
  const std::vector<int> second = {5, 1, 2, 0};
  std::vector<std::shared_ptr<Operation>> barriers;
  const auto call = [&](int rank, uint32_t number) {
    barriers.push_back(group.submit(rank, {.kind = OperationKind::barrier, .group = number}));
  };
  for (const auto& [number, members] : {std::pair(1U, first), std::pair(2U, second)}) {
    const int late = number == 1 ? 1 : 2;
    for (const int rank : members)
      group[rank].groups().create(number, GroupMembers(members), group.now);
    for (const int rank : members)
      if (rank != late) call(rank, number);
  }
  group.settle();
  for (const auto& barrier : barriers)
    CHECK(pending(barrier));
  call(1, 1);
  call(2, 2);
  group.settle();
  for (const auto& barrier : barriers)
    CHECK(failure(barrier) == "ok");
}

TEST_CASE("a rank's time limit in a group stops that group alone") {
  EngineGroup group(3);
  for (const int rank : {1, 2})
    group[rank].groups().create(1, {1, 2}, group.now);
  std::vector<float> values = {1};
  OperationRequest limited = sum_in(1, values);
  limited.timeout = seconds(1);
  const auto lonely = group.submit(1, limited);
  group.settle();
  group.pass(seconds(2));
  CHECK(failure(lonely) == "all_reduce #1: timed out after 1s: rank 2 (host n2) has not arrived");
  CHECK(lonely->blamed_rank == 2);
  const auto world = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  for (const auto& barrier : world)
    CHECK(failure(barrier) == "ok");
}

TEST_CASE("of two groups with pending calls, only the one with a time limit ends") {
  EngineGroup group(3);
  for (const int rank : {0, 1, 2}) {
    group[rank].groups().create(1, {0, 1, 2}, group.now);
    group[rank].groups().create(2, {2, 1, 0}, group.now);
  }
  std::vector<float> values = {1};
  std::vector<float> others = {1};
  OperationRequest limited = sum_in(1, values);
  limited.timeout = seconds(1);
  const auto late = group.submit(0, limited);
  const auto patient = group.submit(0, sum_in(2, others));
  group.settle();
  group.pass(seconds(2));
  CHECK(failure_code(late) == Errc::timeout);
  CHECK(pending(patient));
  std::vector<float> second = {2};
  std::vector<float> third = {3};
  group.submit(1, sum_in(2, second));
  group.submit(2, sum_in(2, third));
  group.settle();
  CHECK(failure(patient) == "ok");
  CHECK(others[0] == 6);
  // The other group is over on all ranks.
  const auto later = group.submit(2, sum_in(1, values));
  group.settle();
  CHECK(failure_code(later) == Errc::timeout);
}

TEST_CASE("messages of groups that never come are bounded") {
  Peers peers({.rank = 0}, std::vector<Engine::Peer>(2));
  Groups groups(peers, {}, {});
  const Message message{.from = 1,
                        .type = static_cast<uint8_t>(EngineMessageType::stop),
                        .stream = uint32_t{9} << 12};
  int accepted = 0;
  while (groups.control(message, {}, Time()) && accepted < 1000)
    ++accepted;
  CHECK(accepted == 16);
  CHECK(groups.place(message)->action == PayloadTarget::Action::wait);
}

TEST_CASE("work beside the engine is lost by a death, a stop, and a rank that has left") {
  {
    EngineGroup group(4);
    group.create(1, {0, 1, 3});
    CHECK_FALSE(group[0].lost(0).has_value());
    group.notify(0, Notice::Kind::left, 2);
    CHECK(group[0].lost(0)->reason == "rank 2 (host n2) has left the job");
    CHECK(group[0].lost(0)->blamed_rank == 2);
    CHECK(group[0].aborted() == nullptr);
    CHECK_FALSE(group[0].lost(1).has_value());
    group[3].leave_group(1);
    group.settle();
    CHECK(group[0].lost(1)->reason == "rank 3 (host n3) has finalized the group");
    CHECK(group[0].lost(1)->blamed_rank == 3);
    CHECK(group[3].lost(1)->reason == "the group has been finalized");
    group.notify(0, Notice::Kind::dead, 1, "exit status 1");
    CHECK(group[0].lost(0)->reason == "rank 1 (host n1) died: exit status 1");
  }
  EngineGroup group(2);
  OperationRequest hurried{.kind = OperationKind::barrier};
  hurried.timeout = seconds(1);
  const auto late = group.submit(0, hurried);
  group.settle();
  group.pass(seconds(2));
  group.settle();
  CHECK(failure_code(late) == Errc::timeout);
  CHECK(group[0].lost(0)->code == Errc::timeout);
  CHECK(group[1].lost(0).has_value());
}

}  // namespace
}  // namespace dt

#include "comm/group/agreement.h"

#include "tests/unit/comm/transport/unopened_link.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

namespace dt {
namespace {

constexpr Time now{seconds(50)};

/// Rank 0 of four, without links.
struct Round {
  Peers peers{{.rank = 0}, std::vector<EnginePeer>(4)};
  GroupPeers group{peers, 0, {0, 1, 2, 3}};
  Agreement agreement{group};

  Result<> add(int rank, CallState state, uint64_t count = 1) {
    Arrival arrival{.sequence = 5,
                    .descriptor = {.kind = OperationKind::all_reduce, .count = count},
                    .state = state};
    if (rank == 1) arrival.timeout = arrival.remaining = seconds(1);
    return agreement.add(rank, arrival, now);
  }
};

TEST_CASE("a verdict is read as it was written, and nothing else is read") {
  const Bytes bytes = encode(Verdict{.blamed_rank = 2, .mismatch = "differs"});
  const Result<Verdict> read = decode_verdict(bytes);
  REQUIRE(read);
  CHECK(read->blamed_rank == 2);
  CHECK(read->mismatch == "differs");
  CHECK(decode_verdict(encode(Verdict()))->equal());
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK(!decode_verdict(ByteSpan(bytes).first(size)));
}

TEST_CASE("the verdict comes when all have arrived, and names who differs") {
  Round round;
  for (const int rank : {2, 0, 1})
    REQUIRE(round.add(rank, CallState::waits));
  CHECK(!round.agreement.decide());
  REQUIRE(round.add(3, CallState::waits, 9));
  const std::optional<Verdict> verdict = round.agreement.decide();
  REQUIRE(verdict);
  CHECK(verdict->blamed_rank == 3);
  CHECK(verdict->mismatch.starts_with("all_reduce #5: rank 3 sent float32[9]"));
  CHECK(round.agreement.empty());
}

TEST_CASE("rank 0 asks all ranks when one is late or differs, and not when one only waits") {
  Round round;
  REQUIRE(round.add(2, CallState::waits));
  CHECK(!round.agreement.asks(5));
  REQUIRE(round.add(1, CallState::runs));
  CHECK(round.agreement.asks(5));
}

TEST_CASE("rank 0 connects with ranks that have not arrived after some time") {
  std::vector<EnginePeer> list(3);
  std::vector<UnopenedLink*> links;
  for (const size_t rank : {size_t{1}, size_t{2}}) {
    auto link = std::make_unique<UnopenedLink>();
    links.push_back(link.get());
    list[rank].link = std::move(link);
  }
  Peers peers({.rank = 0}, std::move(list));
  GroupPeers group(peers, 0, {0, 1, 2});
  Agreement agreement(group);
  CHECK(agreement.connects_at() == Time::max());
  REQUIRE(agreement.add(0, {.sequence = 5, .descriptor = {}, .state = CallState::waits}, now));
  const Time late = agreement.connects_at();
  CHECK(late > now);
  REQUIRE(agreement.add(1, {.sequence = 5, .descriptor = {}, .state = CallState::waits}, late));
  CHECK(agreement.connects_at() == late);
  agreement.connect_missing(late - milliseconds(1));
  CHECK(!links[1]->asked);
  agreement.connect_missing(late);
  CHECK(!links[0]->asked);
  CHECK(links[1]->asked);
  CHECK(agreement.connects_at() == Time::max());
}

TEST_CASE("a rank may arrive again with a later state only") {
  Round round;
  REQUIRE(round.add(1, CallState::runs));
  REQUIRE(round.add(1, CallState::differs));
  CHECK(!round.add(1, CallState::differs));
  CHECK(!round.add(1, CallState::waits));
}

TEST_CASE("the time limit names the ranks that have not arrived") {
  Round round;
  REQUIRE(round.add(1, CallState::waits));
  CHECK(round.agreement.next_deadline() == now + seconds(1));
  CHECK(!round.agreement.overdue(now + milliseconds(999)));
  const std::optional<CollectiveStop> stop = round.agreement.overdue(now + seconds(1));
  REQUIRE(stop);
  CHECK(stop->from == 5);
  CHECK(stop->why.reason == "timed out after 1s: ranks 0, 2, 3 have not arrived");
  CHECK(stop->later == "not possible after all_reduce #5 timed out");
}

TEST_CASE("of the ranks that were asked, those before the collective are the cause") {
  Round round;
  REQUIRE(round.add(1, CallState::runs));
  REQUIRE(round.add(0, CallState::runs));
  CHECK(round.agreement.overdue(now + seconds(1))->why.reason ==
        "timed out after 1s: ranks 2, 3 have not answered");
  REQUIRE(round.add(3, CallState::absent));
  const std::optional<CollectiveStop> stop = round.agreement.overdue(now + seconds(1));
  CHECK(stop->why.reason == "timed out after 1s: rank 3 has not arrived");
  CHECK(stop->why.blamed_rank == 3);
}

TEST_CASE("ranks that were asked have time to answer, also behind a time limit") {
  Round round;
  Arrival late{.sequence = 5, .descriptor = {}, .timeout = seconds(1), .state = CallState::runs};
  REQUIRE(round.agreement.add(1, late, now));
  CHECK(!round.agreement.overdue(now));
  CHECK(round.agreement.overdue(now + milliseconds(50)));
}

TEST_CASE("when a rank is done with a collective, its descriptors are dropped") {
  Round round;
  REQUIRE(round.add(1, CallState::runs));
  round.agreement.settle(4);
  CHECK(!round.agreement.empty());
  round.agreement.settle(5);
  CHECK(round.agreement.empty());
  CHECK(!round.agreement.overdue(now + seconds(5)));
}

}  // namespace
}  // namespace dt

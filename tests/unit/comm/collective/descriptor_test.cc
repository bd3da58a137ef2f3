#include "comm/collective/descriptor.h"

#include "comm/group/arrival_table.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

const std::vector<int> ranks_from_0 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

Descriptor reduce_of(uint64_t count, ReduceOp op = ReduceOp::sum) {
  Descriptor d = Descriptor::of({.kind = OperationKind::all_reduce, .reduce = op, .name = "g"});
  d.count = count;
  return d;
}

TEST_CASE("descriptors that agree have no mismatch") {
  CHECK(!compare(std::vector(5, reduce_of(7)), ranks_from_0, 1));
}

TEST_CASE("the ranks that differ from most are named, in groups") {
  struct Case {
    std::vector<Descriptor> descriptors;
    const char* text;
    int blamed;
  };
  const Descriptor a = reduce_of(1);
  const Descriptor b = reduce_of(2);
  const Descriptor c = reduce_of(1, ReduceOp::max);
  const Case cases[] = {
      {{a, a, b}, "rank 2 sent float32[2], others float32[1]", 2},
      {{b, a, a}, "rank 0 sent float32[2], others float32[1]", 0},
      {{a, b}, "rank 1 sent float32[2], rank 0 float32[1]", 1},
      {{b, a, a, b, a}, "ranks 0, 3 sent float32[2], others float32[1]", 0},
      {{a, b, a, reduce_of(3)},
       "rank 1 sent float32[2], rank 3 sent float32[3], others float32[1]",
       1},
      {{a, a, a, b, c},
       "rank 3 sent float32[2], others float32[1]; rank 4 asked for max, others sum",
       3},
      {{a, a, a, a, a, a, a, b, b, b, b, b, b},
       "ranks 7, 8, 9, 10 and 2 more sent float32[2], others float32[1]",
       7},
      {{a, a, reduce_of(2), reduce_of(3), reduce_of(4), reduce_of(5), reduce_of(6)},
       "rank 2 sent float32[2], rank 3 sent float32[3], rank 4 sent float32[4], rank 5 sent "
       "float32[5], others float32[1]; 1 more differ",
       2},
  };
  for (const Case& k : cases) {
    const std::optional<Mismatch> mismatch = compare(k.descriptors, ranks_from_0, 12);
    REQUIRE(mismatch);
    CHECK(mismatch->text == std::string("all_reduce #12 \"g\": ") + k.text);
    CHECK(mismatch->blamed_rank == k.blamed);
  }
}

TEST_CASE("the members of a group have the names of their ranks in the job") {
  const auto mismatch =
      compare(std::vector{reduce_of(1), reduce_of(1), reduce_of(2)}, std::vector{3, 5, 8}, 1);
  REQUIRE(mismatch);
  CHECK(mismatch->text == "all_reduce #1 \"g\": rank 8 sent float32[2], others float32[1]");
  CHECK(mismatch->blamed_rank == 8);
}

TEST_CASE("long names that differ at their end differ") {
  const std::string common(200, 'n');
  const auto named = [&](const std::string& end) {
    return Descriptor::of({.kind = OperationKind::barrier, .name = common + end});
  };
  const std::optional<Mismatch> mismatch =
      compare(std::vector{named("a"), named("a"), named("b")}, ranks_from_0, 1);
  REQUIRE(mismatch);
  CHECK(mismatch->blamed_rank == 2);
  CHECK(mismatch->text.ends_with("others another one with the same beginning"));
}

TEST_CASE("fields that a kind does not use do not count") {
  const Descriptor one =
      Descriptor::of({.kind = OperationKind::barrier, .type = ElementType::int8, .peer = 1});
  const Descriptor two =
      Descriptor::of({.kind = OperationKind::barrier, .reduce = ReduceOp::max, .count = 9});
  CHECK(one == two);
}

TEST_CASE("roots count where there is one, and counts unless each rank has its own") {
  const auto of = [](OperationKind kind, size_t count, int peer) {
    return Descriptor::of({.kind = kind, .peer = peer, .count = count, .counts = {count}});
  };
  for (auto kind = OperationKind::all_reduce; kind < OperationKind::barrier;
       kind = static_cast<OperationKind>(static_cast<int>(kind) + 1)) {
    CAPTURE(kind_name(kind));
    CHECK((of(kind, 1, 0) == of(kind, 2, 0)) == has_own_counts(kind));
    CHECK((of(kind, 1, 0) == of(kind, 1, 1)) == !is_rooted(kind));
  }
  const std::optional<Mismatch> roots =
      compare(std::vector{of(OperationKind::gather, 1, 0), of(OperationKind::gather, 1, 0),
                          of(OperationKind::gather, 1, 2)},
              ranks_from_0, 4);
  REQUIRE(roots);
  CHECK(roots->text == "gather #4: rank 2 asked for root 2, others root 0");
}

TEST_CASE("a descriptor has counts beyond 2^31 elements") {
  for (const size_t count : {size_t{1} << 31, (size_t{1} << 40) + 1}) {
    const Arrival arrival{
        7,
        Descriptor::of(
            {.kind = OperationKind::all_to_all, .type = ElementType::int8, .count = count}),
        {},
        {}};
    const Result<Arrival> read = decode_arrival(encode(arrival));
    REQUIRE(read);
    CHECK(read->descriptor.count == count);
  }
  const std::optional<Mismatch> mismatch = compare(
      std::vector{reduce_of((size_t{1} << 32) + 1), reduce_of((size_t{1} << 32) + 1), reduce_of(1)},
      ranks_from_0, 1);
  REQUIRE(mismatch);
  CHECK(mismatch->text.ends_with("rank 2 sent float32[1], others float32[4294967297]"));
}

TEST_CASE("a descriptor is read as it was written, and nothing else is read") {
  const Arrival arrival{12, reduce_of(9, ReduceOp::product), seconds(3), milliseconds(2900)};
  const Bytes bytes = encode(arrival);
  const Result<Arrival> read = decode_arrival(bytes);
  REQUIRE(read);
  CHECK(read->descriptor == arrival.descriptor);
  CHECK(read->sequence == 12);
  CHECK(read->timeout == arrival.timeout);
  CHECK(read->remaining == arrival.remaining);
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK(!decode_arrival(ByteSpan(bytes).first(size)));
  for (const size_t at : {size_t{8}, size_t{9}, size_t{10}}) {  // kind, type, reduction
    Bytes broken = bytes;
    broken[at] = std::byte{200};
    CHECK(!decode_arrival(broken));
  }
}

TEST_CASE("an arrival table knows the missing ranks and the next deadline") {
  ArrivalTable arrivals(3);
  const Time now{seconds(50)};
  CHECK(arrivals.empty());
  REQUIRE(arrivals.add(2, {7, reduce_of(1), seconds(5), seconds(4)}, now));
  REQUIRE(arrivals.add(0, {7, reduce_of(1), {}, {}}, now));
  CHECK(arrivals.missing() == std::vector<int>{1});
  CHECK(arrivals.next_deadline().rank == 2);
  CHECK(arrivals.next_deadline().time == now + seconds(4));
  CHECK(!arrivals.add(2, {7, reduce_of(1), {}, {}}, now));
  REQUIRE(arrivals.add(1, {7, reduce_of(4), seconds(1), seconds(1)}, now));
  const std::vector<Descriptor> descriptors = arrivals.take();
  CHECK(descriptors == std::vector{reduce_of(1), reduce_of(4), reduce_of(1)});
  CHECK(arrivals.sequence() == 7);
  CHECK(arrivals.empty());
  CHECK(arrivals.next_deadline().time == Time::max());
  REQUIRE(arrivals.add(1, {9, reduce_of(1), {}, {}}, now));
  CHECK(!arrivals.add(0, {8, reduce_of(1), {}, {}}, now));
  CHECK(arrivals.missing() == std::vector<int>{0, 2});
}

}  // namespace
}  // namespace dt

#include "comm/engine/engine.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <bit>
#include <numeric>

namespace dt {
namespace {

using Floats = std::vector<float>;
using Hosts = EngineGroup::Hosts;
using Works = std::vector<std::shared_ptr<Operation>>;
/// Numbers that a C caller may give.
constexpr auto no_type = std::bit_cast<ElementType>(uint8_t{77});
constexpr auto no_reduction = std::bit_cast<ReduceOp>(uint8_t{9});

OperationRequest all_reduce(Floats& values, ReduceOp op = ReduceOp::sum) {
  return {.kind = OperationKind::all_reduce,
          .reduce = op,
          .count = values.size(),
          .input = values.data(),
          .output = values.data()};
}

OperationRequest barrier() {
  return {.kind = OperationKind::barrier};
}

/// Buffers by rank.
std::vector<Floats> buffers(int size, size_t count) {
  std::vector<Floats> all(static_cast<size_t>(size), Floats(count));
  for (size_t rank = 0; rank < all.size(); ++rank)
    std::iota(all[rank].begin(), all[rank].end(), static_cast<float>(rank));
  return all;
}

/// One of each collective, with the buffers of all ranks.
struct OneOfEach {
  OneOfEach(int size, size_t elements)
      : ranks(static_cast<size_t>(size)),
        count(elements),
        sums(buffers(size, count)),
        casts(buffers(size, count)),
        parts(buffers(size, count)),
        gathered(ranks, Floats(count * ranks)),
        whole(buffers(size, count * ranks)),
        scattered(ranks, Floats(count)) {}

  std::vector<OperationRequest> of_rank(size_t r) {
    return {all_reduce(sums[r]),
            {.kind = OperationKind::broadcast,
             .peer = static_cast<int>(ranks) - 1,
             .count = count,
             .input = casts[r].data(),
             .output = casts[r].data()},
            {.kind = OperationKind::all_gather,
             .count = count,
             .input = parts[r].data(),
             .output = gathered[r].data()},
            {.kind = OperationKind::reduce_scatter,
             .reduce = ReduceOp::average,
             .count = count,
             .input = whole[r].data(),
             .output = scattered[r].data()},
            barrier()};
  }

  void check() const {
    const auto n = static_cast<float>(ranks);
    const float ranks_sum = n * (n - 1) / 2;
    for (size_t r = 0; r < ranks; ++r) {
      check_each(sums[r], [&](size_t i) { return n * static_cast<float>(i) + ranks_sum; });
      check_each(casts[r], [&](size_t i) { return static_cast<float>(i) + n - 1; });
      check_each(scattered[r],
                 [&](size_t i) { return static_cast<float>(r * count + i) + ranks_sum / n; });
      check_each(gathered[r], [&](size_t i) {
        const size_t part = i / count;
        return static_cast<float>(part + i % count);
      });
    }
  }

  template <class Expected>
  static void check_each(const Floats& values, Expected expected) {
    for (size_t i = 0; i < values.size(); ++i)
      REQUIRE(values[i] == expected(i));
  }

  size_t ranks;
  size_t count;
  std::vector<Floats> sums;
  std::vector<Floats> casts;
  std::vector<Floats> parts;
  std::vector<Floats> gathered;
  std::vector<Floats> whole;
  std::vector<Floats> scattered;
};

TEST_CASE("every collective gives its result on every number of ranks") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    for (int size = 1; size <= 9; ++size) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{20'000}}) {
        CAPTURE(size);
        CAPTURE(count);
        EngineGroup group(size, seconds(5), hosts);
        OneOfEach calls(size, count);
        Works works;
        for (int rank = 0; rank < size; ++rank)
          for (const OperationRequest& request : calls.of_rank(static_cast<size_t>(rank)))
            works.push_back(group.submit(rank, request));
        group.settle();
        for (const auto& work : works)
          REQUIRE(failure(work) == "ok");
        calls.check();
        for (int rank = 0; rank < size; ++rank)
          CHECK(group[rank].idle());
      }
    }
  }
}

TEST_CASE("a sum that is rounded has the same bits on every rank") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    for (const size_t count : {size_t{10}, size_t{100'000}}) {
      EngineGroup group(7, seconds(5), hosts);
      std::vector<Floats> values(7, Floats(count));
      for (size_t rank = 0; rank < 7; ++rank) {
        for (size_t i = 0; i < count; ++i)
          values[rank][i] = 1.0F / static_cast<float>(3 + (i * 7 + rank * 11) % 101);
        group.submit(static_cast<int>(rank), all_reduce(values[rank], ReduceOp::average));
      }
      group.settle();
      for (size_t rank = 1; rank < 7; ++rank)
        CHECK(std::memcmp(values[rank].data(), values[0].data(), count * sizeof(float)) == 0);
      CHECK(values[0][0] > 0.01F);
    }
  }
}

TEST_CASE("nobody leaves a barrier before the last one is in it") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    EngineGroup group(4, seconds(5), hosts);
    Works waiting(3);
    for (int rank = 0; rank < 3; ++rank)
      waiting[static_cast<size_t>(rank)] = group.submit(rank, barrier());
    group.settle();
    for (const auto& operation : waiting)
      CHECK(pending(operation));
    waiting.push_back(group.submit(3, barrier()));
    group.settle();
    for (const auto& operation : waiting)
      CHECK(succeeded(operation));
  }
}

TEST_CASE("a mismatch fails that operation on every rank with one text, and the next one works") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    struct Case {
      OperationRequest odd;
      const char* text;
    };
    Floats buffer(1000);
    const OperationRequest usual{.kind = OperationKind::all_reduce,
                                 .count = 101,
                                 .input = buffer.data(),
                                 .output = buffer.data(),
                                 .name = "grad",
                                 .in_sequence = true};
    const auto odd = [&](auto change) {
      OperationRequest request = usual;
      change(request);
      return request;
    };
    const Case cases[] = {
        {odd([](auto& r) { r.count = 100; }), "rank 2 sent float32[100], others float32[101]"},
        {odd([](auto& r) { r.type = ElementType::int32; }),
         "rank 2 sent int32[101], others float32[101]"},
        {odd([](auto& r) { r.reduce = ReduceOp::max; }), "rank 2 asked for max, others sum"},
        {odd([](auto& r) { r.kind = OperationKind::broadcast; }),
         "rank 2 called broadcast, others all_reduce"},
        {odd([](auto& r) { r.kind = OperationKind::barrier; }),
         "rank 2 called barrier, others all_reduce"},
        {odd([](auto& r) { r.name = "loss"; }),
         "rank 2 gave the name \"loss\", others the name \"grad\""},
        {odd([](auto& r) { r.name = ""; }), "rank 2 gave no name, others the name \"grad\""},
    };
    EngineGroup group(4, seconds(5), hosts);
    uint64_t sequence = 0;
    for (const Case& c : cases) {
      Works operations(4);
      for (int rank = 0; rank < 4; ++rank)
        operations[static_cast<size_t>(rank)] = group.submit(rank, rank == 2 ? c.odd : usual);
      group.settle();
      const std::string text = format("all_reduce #{} \"grad\": {}", ++sequence, c.text);
      for (const auto& operation : operations) {
        CHECK(failure(operation) == text);
        CHECK(failure_code(operation) == Errc::mismatch);
        CHECK(operation->blamed_rank == 2);
      }
      const auto next = group.submit_all(barrier());
      ++sequence;
      group.settle();
      for (const auto& operation : next)
        CHECK(failure(operation) == "ok");
    }
  }
}

TEST_CASE("roots that differ are a mismatch") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    EngineGroup group(3, seconds(5), hosts);
    Floats buffer(4);
    Works operations(3);
    for (int rank = 0; rank < 3; ++rank)
      operations[static_cast<size_t>(rank)] = group.submit(rank, {.kind = OperationKind::broadcast,
                                                                  .peer = rank == 0 ? 1 : 2,
                                                                  .count = 4,
                                                                  .input = buffer.data(),
                                                                  .output = buffer.data()});
    group.settle();
    for (const auto& operation : operations)
      CHECK(failure(operation) == "broadcast #1: rank 0 asked for root 1, others root 2");
  }
}

TEST_CASE("a rooted call ends on no rank before all have made it, whichever is the last") {
  for (const auto kind : {OperationKind::broadcast, OperationKind::reduce, OperationKind::gather,
                          OperationKind::scatter}) {
    for (int last = 0; last < 5; ++last) {
      CAPTURE(kind_name(kind));
      CAPTURE(last);
      EngineGroup group(5);
      std::vector<Floats> inputs(5, Floats(5, 1));
      std::vector<Floats> outputs(5, Floats(5));
      Works works;
      const auto call = [&](int rank) {
        const auto index = static_cast<size_t>(rank);
        works.push_back(group.submit(rank, {.kind = kind,
                                            .peer = 1,
                                            .count = 1,
                                            .input = inputs[index].data(),
                                            .output = outputs[index].data()}));
      };
      for (int rank = 0; rank < 5; ++rank)
        if (rank != last) call(rank);
      group.settle();
      for (const auto& work : works)
        REQUIRE(pending(work));
      call(last);
      group.settle();
      for (const auto& work : works)
        REQUIRE(failure(work) == "ok");
    }
  }
}

TEST_CASE("collectives run in the order of submission, although a rank is ahead") {
  EngineGroup group(2);
  Floats first = {1};
  Floats second = {2};
  Floats other_first = {10};
  Floats other_second = {20};
  const auto a = group.submit(0, all_reduce(first));
  const auto b = group.submit(0, all_reduce(second));
  CHECK(a->sequence == 1);
  CHECK(b->sequence == 2);
  group.settle();
  CHECK(pending(a));
  group.submit(1, all_reduce(other_first));
  group.settle();
  CHECK(succeeded(a));
  CHECK(pending(b));
  group.submit(1, all_reduce(other_second));
  group.settle();
  CHECK(succeeded(b));
  CHECK(first[0] == 11);
  CHECK(second[0] == 22);
}

TEST_CASE("rank 0 blames the one who has not arrived when a timeout ends") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    EngineGroup group(4, seconds(5), hosts);
    Floats values = {1};
    OperationRequest request = all_reduce(values);
    request.name = "grad";
    request.in_sequence = true;
    request.timeout = seconds(1);
    Works operations;
    for (const int rank : {0, 1, 2})
      operations.push_back(group.submit(rank, request));
    group.settle();
    group.pass(milliseconds(999));
    CHECK(pending(operations[0]));
    CHECK(group[0].next_deadline() == group.now + milliseconds(1));
    group.pass(milliseconds(1));
    for (const auto& operation : operations) {
      CHECK(failure(operation) ==
            "all_reduce #1 \"grad\": timed out after 1s: rank 3 (host n3) has not arrived");
      CHECK(failure_code(operation) == Errc::timeout);
      CHECK(operation->blamed_rank == 3);
    }
    const auto late = group.submit(3, request);
    group.settle();
    CHECK(failure(late) == failure(operations[0]));
    for (const auto& operation : group.submit_all(barrier())) {
      group.settle();
      CHECK(failure(operation) ==
            "barrier #2: not possible after all_reduce #1 \"grad\" timed out");
    }
  }
}

TEST_CASE("several who have not arrived are named together, also when rank 0 is one of them") {
  for (const Hosts hosts : {Hosts::several, Hosts::one}) {
    EngineGroup group(4, seconds(5), hosts);
    OperationRequest request = barrier();
    request.timeout = milliseconds(1500);
    const auto waiting = group.submit(2, request);
    group.settle();
    group.pass(milliseconds(1500));
    CHECK(failure(waiting) == "barrier #1: timed out after 1500ms: ranks 0, 1, 3 have not arrived");
  }
}

TEST_CASE("without an answer from rank 0 a rank ends by itself soon after its timeout") {
  EngineGroup group(3);
  group.stopped[0] = true;
  OperationRequest request = barrier();
  request.timeout = seconds(1);
  const auto one = group.submit(1, request);
  const auto two = group.submit(2, barrier());
  group.settle();
  group.pass(seconds(1));
  CHECK(pending(one));
  CHECK(group[1].next_deadline() == group.now + milliseconds(250));
  group.pass(milliseconds(250));
  CHECK(failure(one) ==
        "barrier #1: timed out after 1s on rank 1 (host n1), waiting for rank 0 (host n0)");
  CHECK(failure(two) == failure(one));
}

TEST_CASE("a rooted call that another rank has not made ends in the same way") {
  EngineGroup group(3);
  group.stopped[0] = true;
  Floats values = {1};
  const auto one = group.submit(1, {.kind = OperationKind::broadcast,
                                    .peer = 1,
                                    .count = 1,
                                    .input = values.data(),
                                    .timeout = seconds(1)});
  group.settle();
  group.pass(milliseconds(1249));
  CHECK(pending(one));
  group.pass(milliseconds(1));
  CHECK(failure(one) ==
        "broadcast #1: timed out after 1s on rank 1 (host n1), waiting for rank 2 (host n2)");
}

TEST_CASE("a timeout while data moves names the rank that is waited for, on every rank") {
  EngineGroup group(3);
  std::vector<Floats> values = buffers(3, 50'000);
  Works operations;
  for (int rank = 0; rank < 3; ++rank) {
    OperationRequest request = all_reduce(values[static_cast<size_t>(rank)]);
    if (rank == 2) request.timeout = seconds(2);
    operations.push_back(group.submit(rank, request));
  }
  group.pipe(1, 2).capacity = 1000;  // enough for its call …
  for (int i = 0; i < 4; ++i)
    for (int rank = 0; rank < 3; ++rank)
      if (rank != 1 || i < 3) group[rank].step(group.now);
  group.stopped[1] = true;  // … and then rank 1 stands still
  group.settle();
  group.pass(seconds(2));
  CHECK(failure(operations[2]) ==
        "all_reduce #1: timed out after 2s: rank 1 (host n1) has not answered");
  CHECK(failure(operations[0]) == failure(operations[2]));
  CHECK(operations[0]->blamed_rank == 1);
}

TEST_CASE("a queued operation that runs out of time stops those from it on, not those before") {
  EngineGroup group(2);
  OperationRequest hurried = barrier();
  hurried.timeout = seconds(1);
  const auto first = group.submit(0, barrier());
  const auto second = group.submit(0, hurried);
  group.settle();
  group.pass(seconds(1));
  CHECK(pending(first));
  CHECK(failure(second) == "barrier #2: timed out after 1s on rank 0 (host n0) behind barrier #1");
  const auto other = group.submit_all(barrier());
  group.settle();
  CHECK(succeeded(first));
  CHECK(succeeded(other[1]));
  CHECK(failure(other[0]) == "barrier #3: not possible after barrier #2 timed out");
}

TEST_CASE("arguments that cannot be right fail at once, here alone, and take no number") {
  EngineGroup group(2);
  Floats values = {1, 2};
  const OperationRequest good = all_reduce(values);
  const auto with = [&](auto change) {
    OperationRequest request = good;
    change(request);
    return request;
  };
  struct Case {
    OperationRequest request;
    const char* text;
  };
  const Case cases[] = {
      {with([](auto& r) {
         r.kind = OperationKind::gather;
         r.peer = 2;
       }),
       "gather: root 2 is not one of the ranks 0 to 1"},
      {with([](auto& r) {
         r.kind = OperationKind::all_to_all_v;
         r.counts = {1, 1, 1};
       }),
       "all_to_all_v: there are 3 counts for 2 ranks; give one for each rank"},
      {with([](auto& r) {
         r.kind = OperationKind::all_to_all_v;
         r.result = std::make_shared<OperationResult>();
         r.counts = {1, SIZE_MAX / 4};
       }),
       "all_to_all_v: the counts are too large: float32[4611686018427387903] does not fit "
       "behind the others"},
      {with([](auto& r) { r.kind = OperationKind::all_gather_v; }),
       "all_gather_v: there is no place for the result"},
      {with([](auto& r) { r.input = nullptr; }), "all_reduce: the input is null"},
      {with([](auto& r) { r.output = nullptr; }), "all_reduce: the output is null"},
      {with([](auto& r) { r.type = no_type; }), "all_reduce: there is no element type 77"},
      {with([](auto& r) { r.reduce = no_reduction; }), "all_reduce: there is no reduction 9"},
      {with([](auto& r) { r.timeout = -seconds(1); }), "all_reduce: the timeout is negative"},
      {with([](auto& r) { r.count = SIZE_MAX / 4; }),
       "all_reduce: float32[4611686018427387903] is too large"},
      {with([](auto& r) { r.input = static_cast<const char*>(r.input) + 1; }),
       "all_reduce: the input is not aligned for float32"},
      {with([](auto& r) {
         r.kind = OperationKind::broadcast;
         r.name = "w";
         r.peer = 2;
       }),
       "broadcast \"w\": root 2 is not one of the ranks 0 to 1"},
      {with([](auto& r) {
         r.kind = OperationKind::send;
         r.peer = -1;
       }),
       "send to rank -1: peer -1 is not one of the ranks 0 to 1"},
      {with([](auto& r) {
         r.kind = OperationKind::receive;
         r.peer = 0;
       }),
       "receive from rank 0: rank 0 is this rank itself"},
  };
  for (const Case& c : cases) {
    const auto operation = group.submit(0, c.request);
    CHECK(failure(operation) == c.text);
    CHECK(failure_code(operation) == Errc::input);
  }
  const auto next = group.submit_all(barrier());
  group.settle();
  CHECK(succeeded(next[0]));
  CHECK(next[0]->sequence == 1);
}

TEST_CASE("alone, collectives are identities with the same checks") {
  EngineGroup group(1);
  Floats values = {3, 4};
  Floats output(2);
  OperationRequest request = all_reduce(values, ReduceOp::average);
  request.output = output.data();
  const auto operation = group.submit(0, request);
  group.settle();
  CHECK(succeeded(operation));
  CHECK(output == values);
  request.input = nullptr;
  CHECK(!succeeded(group.submit(0, request)));
  CHECK(group[0].idle());
  CHECK(group[0].next_deadline() == Time::max());
}

}  // namespace
}  // namespace dt

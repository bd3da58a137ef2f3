#include "comm/named/named_collectives.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace dt {
namespace {

OperationRequest sum_of(std::vector<float>& values, const std::string& name) {
  return {.kind = OperationKind::all_reduce,
          .type = ElementType::float32,
          .count = values.size(),
          .input = values.data(),
          .output = values.data(),
          .name = name};
}

TEST_CASE("named collectives match by name, in any order") {
  for (const auto hosts : {EngineGroup::Hosts::several, EngineGroup::Hosts::one}) {
    EngineGroup group(3, seconds(5), hosts);
    constexpr int tensors = 10;
    std::vector<std::vector<std::vector<float>>> data(3);
    std::vector<std::shared_ptr<Operation>> works;
    for (int rank = 0; rank < 3; ++rank) {
      for (int t = 0; t < tensors; ++t)
        data[rank].push_back(std::vector<float>(5, static_cast<float>(t * (rank + 1))));
      for (int i = 0; i < tensors; ++i) {
        const int t = (i * 3 + rank * 7) % tensors;
        works.push_back(group.submit(rank, sum_of(data[rank][t], format("t{}", t))));
      }
    }
    group.settle();
    for (const auto& work : works)
      CHECK(failure(work) == "ok");
    for (int rank = 0; rank < 3; ++rank)
      for (int t = 0; t < tensors; ++t)
        CHECK(data[rank][t] == std::vector<float>(5, static_cast<float>(6 * t)));
  }
}

TEST_CASE("a named collective that one rank has not called holds up no other") {
  EngineGroup group(2);
  std::vector<float> early = {1};
  const auto alone = group.submit(0, sum_of(early, "alone"));
  const auto barriers = group.submit_all({.kind = OperationKind::barrier});
  std::vector<float> a = {1};
  std::vector<float> b = {2};
  const auto first = group.submit(0, sum_of(a, "both"));
  const auto second = group.submit(1, sum_of(b, "both"));
  group.settle();
  CHECK(succeeded(barriers[0]));
  CHECK(succeeded(barriers[1]));
  CHECK(succeeded(first));
  CHECK(succeeded(second));
  CHECK(b[0] == 3);
  CHECK(pending(alone));
  std::vector<float> late = {2};
  const auto other = group.submit(1, sum_of(late, "alone"));
  group.settle();
  CHECK(succeeded(alone));
  CHECK(succeeded(other));
  CHECK(early[0] == 3);
}

TEST_CASE("a name that is pending is refused at once, and the first call continues") {
  EngineGroup group(2);
  std::vector<float> a = {1};
  std::vector<float> b = {2};
  const auto first = group.submit(0, sum_of(a, "x"));
  const auto second = group.submit(0, sum_of(b, "x"));
  CHECK(failure_code(second) == Errc::input);
  const auto other = group.submit(1, sum_of(b, "x"));
  group.settle();
  CHECK(succeeded(first));
  CHECK(succeeded(other));
  CHECK(a[0] == 3);
  // The name is free again.
  group.submit(0, sum_of(a, "x"));
  CHECK(pending(group.submit(1, sum_of(b, "x"))));
}

TEST_CASE("calls of one name that differ fail on every rank, and the engine stays usable") {
  EngineGroup group(3);
  std::vector<std::vector<float>> data(3, std::vector<float>(4, 1));
  data[1].resize(3);
  std::vector<std::shared_ptr<Operation>> works;
  for (int rank = 0; rank < 3; ++rank)
    works.push_back(group.submit(rank, sum_of(data[rank], "grad")));
  group.settle();
  for (const auto& work : works) {
    CHECK(failure(work) == "all_reduce \"grad\": rank 1 sent float32[3], others float32[4]");
    CHECK(failure_code(work) == Errc::mismatch);
    CHECK(work->blamed_rank == 1);
  }
  data[1].resize(4, 1);
  works.clear();
  for (int rank = 0; rank < 3; ++rank)
    works.push_back(group.submit(rank, sum_of(data[rank], "grad")));
  group.settle();
  for (const auto& work : works)
    CHECK(failure(work) == "ok");
}

TEST_CASE("each difference of named calls fails on every rank, and is named") {
  struct Difference {
    std::string text;
    std::function<void(OperationRequest&)> make;
    OperationKind kind = OperationKind::all_reduce;
  };
  const Difference differences[] = {
      {"rank 1 asked for max, others sum", [](OperationRequest& r) { r.reduce = ReduceOp::max; }},
      {"rank 1 sent int32[4], others float32[4]",
       [](OperationRequest& r) { r.type = ElementType::int32; }},
      {"rank 1 called broadcast, others all_reduce",
       [](OperationRequest& r) { r.kind = OperationKind::broadcast; }},
      {"rank 1 asked for root 2, others root 0", [](OperationRequest& r) { r.peer = 2; },
       OperationKind::broadcast},
      {"rank 1 asked for prescale 2 and postscale 1, others prescale 1 and postscale 1",
       [](OperationRequest& r) { r.terms = OperationTerms{.prescale = 2}; }},
      {"rank 1 asked for compression to float16, others none",
       [](OperationRequest& r) { r.terms = OperationTerms{.compression = Compression::float16}; }},
  };
  EngineGroup group(3);
  for (const Difference& difference : differences) {
    std::vector<std::vector<float>> data(3, std::vector<float>(4, 1));
    std::vector<std::shared_ptr<Operation>> works;
    for (const bool odd : {true, false}) {
      works.clear();
      for (int rank = 0; rank < 3; ++rank) {
        OperationRequest request = sum_of(data[rank], "grad");
        request.kind = difference.kind;
        if (odd && rank == 1) difference.make(request);
        works.push_back(group.submit(rank, std::move(request)));
      }
      group.settle();
      for (const auto& work : works) {
        if (!odd) CHECK(failure(work) == "ok");
        if (odd) CHECK(failure_code(work) == Errc::mismatch);
        if (odd) CHECK(work->blamed_rank == 1);
        if (odd) CHECK(failure(work).ends_with(": " + difference.text));
      }
    }
  }
}

TEST_CASE("a time limit names the ranks that have not made the call") {
  EngineGroup group(3);
  std::vector<float> a = {1};
  std::vector<float> b = {2};
  OperationRequest limited = sum_of(a, "grad");
  limited.timeout = seconds(1);
  const auto first = group.submit(1, limited);
  const auto other = group.submit(2, sum_of(b, "other"));
  group.settle();
  group.pass(seconds(2));
  CHECK(failure(first) == "all_reduce \"grad\": timed out after 1s: ranks 0, 2 have not arrived");
  CHECK(failure(other) == "all_reduce \"other\": not possible after all_reduce \"grad\" timed out");
  const auto barriers = group.submit_all({.kind = OperationKind::barrier});
  group.settle();
  CHECK(succeeded(barriers[0]));
}

TEST_CASE("a death ends named collectives") {
  EngineGroup group(3);
  std::vector<float> a = {1};
  const auto work = group.submit(1, sum_of(a, "grad"));
  group.settle();
  group.end(2);
  group.notify(1, Notice::Kind::dead, 2, "killed by SIGKILL");
  group.settle();
  CHECK(failure(work) == "all_reduce \"grad\": rank 2 (host n2) died: killed by SIGKILL");
}

TEST_CASE("a rank that leaves ends the named collectives that need it") {
  for (const int leaver : {0, 2}) {
    EngineGroup group(3);
    std::vector<float> a = {1};
    const auto work = group.submit(1, sum_of(a, "grad"));
    group.settle();
    group.end(leaver);
    for (const int rank : {0, 1, 2})
      if (rank != leaver) group.notify(rank, Notice::Kind::left, leaver);
    group.pass(seconds(1));
    CHECK(failure(work) ==
          format("all_reduce \"grad\": rank {} (host n{}) has left the job", leaver, leaver));
  }
}

TEST_CASE("a member that finalizes its group ends the named collectives of the others") {
  EngineGroup group(3);
  for (int rank = 0; rank < 3; ++rank)
    group[rank].groups().create(1, {0, 1, 2}, group.now);
  std::vector<float> a = {1};
  OperationRequest request = sum_of(a, "grad");
  request.group = 1;
  const auto work = group.submit(1, request);
  group.settle();
  group[2].leave_group(1);
  group.settle();
  CHECK(failure(work) == "all_reduce \"grad\": rank 2 (host n2) has finalized the group");
}

TEST_CASE("a rank that is done and finalizes the group stops no call that it has run") {
  EngineGroup group(5);
  for (int rank = 0; rank < 5; ++rank)
    group[rank].groups().create(1, {0, 1, 2, 3, 4}, group.now);
  std::vector<std::vector<float>> values(5, std::vector<float>(4, 1));
  std::vector<std::shared_ptr<Operation>> works;
  for (int rank = 0; rank < 5; ++rank) {
    OperationRequest request = sum_of(values[static_cast<size_t>(rank)], "weights");
    request.kind = OperationKind::reduce;
    request.group = 1;
    works.push_back(group.submit(rank, request));
  }
  while (pending(works[4]))
    for (const int rank : {0, 1, 2, 3, 4})
      group[rank].step(group.now);
  REQUIRE(pending(works[0]));
  group[4].leave_group(1);
  group.settle();
  for (const auto& work : works)
    CHECK(failure(work) == "ok");
}

TEST_CASE("ranks that block in different names get a mismatch, and can go on") {
  EngineGroup group(2);
  std::vector<float> a = {1};
  std::vector<std::shared_ptr<Operation>> works;
  for (const int rank : {0, 1}) {
    OperationRequest request = sum_of(a, rank == 0 ? "a" : "b");
    request.blocks = true;
    works.push_back(group.submit(rank, request));
  }
  group.settle();
  CHECK(pending(works[0]));
  group.pass(seconds(2));
  for (const auto& work : works)
    CHECK(failure(work) == "all_reduce \"a\": rank 1 gave the name \"b\", rank 0 the name \"a\"");
  std::vector<std::vector<float>> values(2, {1});
  for (const size_t rank : {0, 1})
    works[rank] = group.submit(static_cast<int>(rank), sum_of(values[rank], "b"));
  group.settle();
  CHECK(succeeded(works[0]));
  CHECK(values[1][0] == 2);
}

TEST_CASE("shapes that differ are named with their hosts") {
  EngineGroup group(2);
  std::vector<std::vector<float>> values(2, std::vector<float>(6));
  std::vector<std::shared_ptr<Operation>> works;
  for (const size_t rank : {0, 1}) {
    OperationRequest request = sum_of(values[rank], "w");
    request.terms.emplace();
    request.terms->has_shape = true;
    request.terms->shape = rank == 0 ? std::vector<uint64_t>{2, 3} : std::vector<uint64_t>{3, 2};
    works.push_back(group.submit(static_cast<int>(rank), request));
  }
  group.settle();
  CHECK(failure_code(works[1]) == Errc::mismatch);
  CHECK(failure(works[1]) ==
        "all_reduce \"w\": rank 1 (host n1) sent float32[3, 2], rank 0 float32[2, 3]");
}

OperationRequest join_request() {
  return {.kind = OperationKind::join, .result = std::make_shared<OperationResult>()};
}

int last_of(const std::shared_ptr<Operation>& join) {
  int32_t last = -1;
  std::memcpy(&last, join->request.result->data.get(), sizeof last);
  return last;
}

TEST_CASE("a rank that has joined contributes nothing to reductions until all have joined") {
  for (const auto hosts : {EngineGroup::Hosts::several, EngineGroup::Hosts::one}) {
    EngineGroup group(3, seconds(5), hosts);
    std::vector<std::shared_ptr<Operation>> joins = {group.submit(1, join_request())};
    std::vector<float> refused = {1};
    const auto late = group.submit(1, sum_of(refused, "late"));
    CHECK(failure_code(late) == Errc::input);
    // Large ones, and small ones in buckets.
    for (const size_t count : {size_t{40'000}, size_t{3}}) {
      std::vector<std::vector<float>> values(4, std::vector<float>(count, 2));
      std::vector<std::shared_ptr<Operation>> works;
      for (const int rank : {0, 2}) {
        OperationRequest product = sum_of(values[static_cast<size_t>(rank)], "product");
        product.reduce = ReduceOp::product;
        product.terms = OperationTerms{.prescale = -1, .has_shape = true, .shape = {count}};
        works.push_back(group.submit(rank, product));
        works.push_back(group.submit(rank, sum_of(values[static_cast<size_t>(rank) + 1], "sum")));
      }
      group.settle();
      for (const auto& work : works)
        CHECK(failure(work) == "ok");
      for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{3}})
        CHECK(values[i] == std::vector<float>(count, 4));
    }
    joins.push_back(group.submit(2, join_request()));
    group.settle();
    CHECK(pending(joins[0]));
    joins.push_back(group.submit(0, join_request()));
    group.settle();
    for (const auto& join : joins) {
      REQUIRE(failure(join) == "ok");
      CHECK(last_of(join) == 0);
    }
    std::vector<float> again = {1};
    for (int rank = 0; rank < 3; ++rank)
      CHECK(pending(group.submit(rank, sum_of(again, "late"))));
  }
}

TEST_CASE("an average is over all ranks, or over those that have not joined") {
  EngineGroup group(4);
  group.submit(3, join_request());
  std::vector<std::vector<float>> values(3);
  const auto average = [&](bool active, size_t count, double scale) {
    for (int rank = 0; rank < 3; ++rank) {
      auto& mine = values[static_cast<size_t>(rank)];
      mine.assign(count, static_cast<float>(4 * (rank + 1)));
      OperationRequest mean = sum_of(mine, "mean");
      mean.reduce = ReduceOp::average;
      mean.terms = OperationTerms{.postscale = scale, .average_active = active};
      group.submit(rank, mean);
    }
    group.settle();
    CHECK(values[0] == values[2]);
    return values[1];
  };
  CHECK(average(false, 5, 1) == std::vector<float>(5, 6));
  CHECK(average(true, 5, 1) == std::vector<float>(5, 8));
  CHECK(average(true, 50'000, 0.5) == std::vector<float>(50'000, 4));
}

TEST_CASE("named calls that are no reductions fail while a rank has joined, with its host") {
  EngineGroup group(2);
  const auto join = group.submit(1, join_request());
  const auto barrier = group.submit(0, {.kind = OperationKind::barrier, .name = "b"});
  std::vector<float> value = {1};
  OperationRequest rooted = sum_of(value, "r");
  rooted.kind = OperationKind::reduce;
  rooted.peer = 1;
  const auto reduce = group.submit(0, rooted);
  group.settle();
  CHECK(failure(barrier) ==
        "barrier \"b\": rank 1 (host n1) has joined, and barrier is impossible without data of all "
        "ranks");
  CHECK(failure_code(barrier) == Errc::mismatch);
  CHECK(barrier->blamed_rank == 1);
  CHECK(failure(reduce) ==
        "reduce \"r\": rank 1 (host n1) has joined, and reduce is impossible without its root");
  CHECK(pending(join));
}

TEST_CASE("collectives without a name wait for a rank that has joined, and keep their order") {
  EngineGroup group(2);
  const auto join = group.submit(1, join_request());
  const auto first = group.submit(0, {.kind = OperationKind::barrier});
  group.settle();
  CHECK(pending(first));
  const auto second = group.submit(1, {.kind = OperationKind::barrier});
  group.settle();
  CHECK(succeeded(first));
  CHECK(succeeded(second));
  CHECK(pending(join));
}

TEST_CASE("a join's time limit names the ranks that have not joined") {
  EngineGroup group(3);
  OperationRequest limited = join_request();
  limited.timeout = seconds(2);
  const auto join = group.submit(1, limited);
  const auto other = group.submit(0, join_request());
  group.settle();
  group.pass(seconds(3));
  CHECK(failure(join) == "join: timed out after 2s: rank 2 (host n2) has not arrived");
  CHECK(join->blamed_rank == 2);
  CHECK(failure_code(other) == Errc::timeout);
}

TEST_CASE("a rank alone is the last to join") {
  EngineGroup group(1);
  const auto join = group.submit(0, join_request());
  REQUIRE(succeeded(join));
  CHECK(last_of(join) == 0);
}

TEST_CASE("a join ends when a rank dies that has not joined") {
  EngineGroup group(3);
  const auto join = group.submit(1, join_request());
  group.settle();
  group.end(2);
  for (const int rank : {0, 1})
    group.notify(rank, Notice::Kind::dead, 2, "signal 9");
  group.settle();
  CHECK(failure_code(join) == Errc::peer_lost);
  CHECK(join->blamed_rank == 2);
}

TEST_CASE("a reduce_scatter with uneven parts needs no call of a rank that has joined") {
  for (const auto hosts : {EngineGroup::Hosts::several, EngineGroup::Hosts::one}) {
    EngineGroup group(3, seconds(5), hosts);
    group.submit(1, join_request());
    std::vector<float> input = {1, 2, 3, 4};
    std::vector<std::shared_ptr<Operation>> works;
    for (const int rank : {0, 2}) {
      OperationRequest scatter = sum_of(input, "s");
      scatter.kind = OperationKind::reduce_scatter;
      scatter.count = 0;
      scatter.counts = {3, 1, 0};
      scatter.result = std::make_shared<OperationResult>();
      works.push_back(group.submit(rank, scatter));
    }
    group.settle();
    REQUIRE(failure(works[0]) == "ok");
    REQUIRE(failure(works[1]) == "ok");
    const OperationResult& result = *works[0]->request.result;
    const auto* sums = reinterpret_cast<const float*>(result.data.get());
    CHECK(std::vector<float>(sums, sums + result.counts[0]) == std::vector<float>{2, 4, 6});
    CHECK(works[1]->request.result->counts == std::vector<size_t>{0});
  }
}

TEST_CASE("a join ends behind the calls that this rank still runs for others") {
  EngineGroup group(3);
  group.submit(1, join_request());
  std::vector<std::vector<float>> values(2, std::vector<float>(100'000, 1));
  std::vector<std::shared_ptr<Operation>> works;
  std::vector<std::shared_ptr<Operation>> joins;
  for (const int rank : {0, 2}) {
    works.push_back(group.submit(rank, sum_of(values[static_cast<size_t>(rank / 2)], "large")));
    joins.push_back(group.submit(rank, join_request()));
  }
  // No rank may leave after its join, while others need its part of the sum.
  bool moved = true;
  while (moved) {
    moved = false;
    for (int rank = 0; rank < 3; ++rank) {
      moved |= group[rank].step(group.now);
      if (succeeded(joins[0])) CHECK(succeeded(works[0]));
    }
  }
  CHECK(succeeded(joins[0]));
  CHECK(succeeded(joins[1]));
  CHECK(values[1] == std::vector<float>(100'000, 2));
}

TEST_CASE("a join keeps its time limit while this rank runs for others") {
  EngineGroup group(3);
  OperationRequest limited = join_request();
  limited.timeout = seconds(2);
  const auto join = group.submit(1, limited);
  std::vector<std::vector<float>> values(2, std::vector<float>(100'000, 1));
  for (const int rank : {0, 2}) {
    group.submit(rank, sum_of(values[static_cast<size_t>(rank / 2)], "large"));
    group.submit(rank, join_request());
  }
  // Rank 0 gets all calls, and decides. From then on, the others are silent.
  for (const int rank : {1, 2, 0, 0, 1, 1})
    group[rank].step(group.now);
  REQUIRE(pending(join));
  group.now += seconds(3);
  group[1].step(group.now);
  group[1].step(group.now);
  CHECK(failure(join) == "join: timed out after 2s on rank 1 (host n1) behind all_reduce");
}

TEST_CASE("the priorities of rank 0 decide which call is run first, and may differ elsewhere") {
  EngineGroup group(2);
  constexpr int calls = 3;
  std::vector<std::vector<std::vector<float>>> data(2, {calls, std::vector<float>(50'000, 1)});
  std::vector<std::shared_ptr<Operation>> works;
  for (int rank = 0; rank < 2; ++rank) {
    for (int i = 0; i < calls; ++i) {
      OperationRequest request = sum_of(data[rank][i], format("t{}", i));
      request.priority = rank == 0 ? i : calls - i;
      works.push_back(group.submit(rank, request));
    }
  }
  std::vector<int> ended;
  for (int step = 0; step < 1000 && ended.size() < calls; ++step) {
    group[step % 2].step(group.now);
    for (int i = 0; i < calls; ++i)
      if (!pending(works[i]) && std::ranges::find(ended, i) == ended.end()) ended.push_back(i);
  }
  CHECK(ended == std::vector<int>{2, 1, 0});
}

}  // namespace
}  // namespace dt

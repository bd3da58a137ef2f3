// Calls by name that move no data, on which the ranks only agree.
#include "base/format.h"
#include "comm/named/named_collectives.h"
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace dt {
namespace {

/// A call that moves no data. Its buffers are not read.
OperationRequest agreement_on(const std::string& name, DeviceRoute wish) {
  OperationRequest request{
      .kind = OperationKind::all_reduce, .count = 5, .input = &request, .output = &request};
  request.name = name;
  request.agreement = std::make_shared<CallAgreement>(CallAgreement{.wish = wish});
  return request;
}

TEST_CASE("all ranks agree on one order and one route of calls that move no data") {
  constexpr int calls = 12;
  EngineGroup group(3);
  std::vector<std::vector<std::shared_ptr<Operation>>> works(3);
  for (int rank = 0; rank < 3; ++rank) {
    works[rank].resize(calls);
    for (int i = 0; i < calls; ++i) {
      const int call = (i * 5 + rank * 7) % calls;
      // Rank 1 cannot run the last one.
      const bool last = call == calls - 1;
      const auto wish = last && rank == 1 ? DeviceRoute::undecided : DeviceRoute::nccl;
      works[rank][call] = group.submit(rank, agreement_on(format("n{}", call), wish));
    }
  }
  group.settle();
  std::vector<NcclSlot> slots;
  for (int call = 0; call < calls; ++call) {
    const CallAgreement& first = *works[0][call]->request.agreement;
    CHECK(first.route == (call == calls - 1 ? DeviceRoute::undecided : DeviceRoute::nccl));
    for (int rank = 0; rank < 3; ++rank) {
      REQUIRE(succeeded(works[rank][call]));
      const CallAgreement& agreement = *works[rank][call]->request.agreement;
      CHECK(agreement.route == first.route);
      if (first.route == DeviceRoute::nccl) CHECK(agreement.slots == first.slots);
    }
    if (first.route == DeviceRoute::nccl) slots.push_back(first.slots.at(0));
  }
  // Each bucket is whole, and none is left out.
  for (uint64_t bucket = 0; !slots.empty(); ++bucket) {
    const auto of_bucket = [&](const NcclSlot& slot) { return slot.bucket == bucket; };
    const auto found = std::ranges::count_if(slots, of_bucket);
    REQUIRE(found > 0);
    for (const NcclSlot& slot : slots) {
      if (!of_bucket(slot)) continue;
      CHECK(slot.members == found);
      CHECK(slot.index < slot.members);
    }
    std::erase_if(slots, of_bucket);
  }
}

TEST_CASE("each tensor of a list has a slot, and a call with data may come between") {
  EngineGroup group(2);
  std::vector<std::shared_ptr<Operation>> lists;
  std::vector<float> values = {1, 2};
  for (int rank = 0; rank < 2; ++rank) {
    OperationRequest list = agreement_on("grad", DeviceRoute::nccl);
    list.tensors = {{.count = 3, .input = &list, .output = &list},
                    {.count = 100000, .input = &list, .output = &list},
                    {.count = 4, .input = &list, .output = &list}};
    lists.push_back(group.submit(rank, list));
  }
  const auto sums = group.submit_all({.kind = OperationKind::all_reduce,
                                      .count = values.size(),
                                      .input = values.data(),
                                      .output = values.data(),
                                      .name = "data"});
  group.settle();
  CHECK(succeeded(sums[0]));
  for (const auto& list : lists) {
    REQUIRE(succeeded(list));
    const std::vector<NcclSlot>& slots = list->request.agreement->slots;
    REQUIRE(slots.size() == 3);
    CHECK(slots[0] == NcclSlot{.bucket = 0, .index = 0, .members = 2});
    CHECK(slots[1] == NcclSlot{.bucket = 1, .index = 0, .members = 1});
    CHECK(slots[2] == NcclSlot{.bucket = 0, .index = 1, .members = 2});
  }
}

TEST_CASE("calls that move no data fail as others do") {
  EngineGroup group(2);
  OperationRequest more = agreement_on("n", DeviceRoute::nccl);
  more.count = 6;
  const auto first = group.submit(0, agreement_on("n", DeviceRoute::nccl));
  const auto second = group.submit(1, more);
  group.settle();
  CHECK(failure_code(first) == Errc::mismatch);
  CHECK(failure_code(second) == Errc::mismatch);
}

TEST_CASE("a rank that has joined takes no part in calls that move no data") {
  EngineGroup group(2);
  OperationRequest join{.kind = OperationKind::join};
  join.result = std::make_shared<OperationResult>();
  const auto joined = group.submit(1, join);
  const auto call = group.submit(0, agreement_on("n", DeviceRoute::nccl));
  group.settle();
  REQUIRE(succeeded(call));
  CHECK(call->request.agreement->route == DeviceRoute::staged);
  CHECK(pending(joined));
  // But in those for calls without a name.
  std::vector<std::shared_ptr<Operation>> slots;
  for (const int rank : {0, 1}) {
    OperationRequest slot = agreement_on("NCCL call 1", DeviceRoute::nccl);
    slot.agreement->of_unnamed = true;
    slots.push_back(group.submit(rank, slot));
  }
  group.settle();
  for (const auto& slot : slots) {
    REQUIRE(succeeded(slot));
    CHECK(slot->request.agreement->route == DeviceRoute::nccl);
  }
  CHECK(pending(joined));
}

TEST_CASE("data that the ranks have agreed on follows a join of its rank") {
  EngineGroup group(2);
  std::vector<std::shared_ptr<Operation>> calls;
  std::vector<std::shared_ptr<Operation>> joins;
  for (const int rank : {0, 1}) {
    calls.push_back(group.submit(rank, agreement_on(format("n{}", rank), DeviceRoute::nccl)));
    OperationRequest join{.kind = OperationKind::join};
    join.result = std::make_shared<OperationResult>();
    joins.push_back(group.submit(rank, join));
  }
  group.settle();
  std::vector<float> numbers(5, 1);
  for (const int rank : {0, 1}) {
    REQUIRE(succeeded(calls[static_cast<size_t>(rank)]));
    CHECK(pending(joins[static_cast<size_t>(rank)]));
    OperationRequest data = agreement_on(format("n{}", rank), DeviceRoute::nccl);
    data.agreement.reset();
    data.input = data.output = numbers.data();
    CHECK(failure_code(group.submit(rank, data)) == Errc::input);
    data.follows_agreement = true;
    const auto executed = group.submit(rank, data);
    group.settle();
    CHECK(succeeded(executed));
  }
  CHECK(succeeded(joins[0]));
  CHECK(succeeded(joins[1]));
}

TEST_CASE("decisions that rank 0 never makes are refused") {
  Peers peers({.rank = 1}, std::vector<EnginePeer>(2));
  NamedCollectives named({peers, 0, {0, 1}}, [](const auto&, auto&) { return Result<>(); });
  const auto submit = [&](OperationRequest request) {
    auto call = std::make_shared<Operation>();
    call->request = std::move(request);
    named.submit(call);
    return call;
  };
  const auto decide = [&](const NameDecision& decision) {
    return named.decision({.from = 0}, encode(decision));
  };
  const uint64_t a = hash_of_name("a");
  const uint64_t b = hash_of_name("b");
  const auto first = submit(agreement_on("a", DeviceRoute::nccl));
  OperationRequest other = agreement_on("b", DeviceRoute::nccl);
  other.type = ElementType::int32;
  const auto second = submit(other);
  CHECK_FALSE(decide({.names = {a, b}, .route = DeviceRoute::nccl}));
  CHECK_FALSE(decide({.names = {hash_of_name("c")}, .route = DeviceRoute::nccl}));
  CHECK_FALSE(decide({.names = {a}}));
  CHECK(pending(first));
  CHECK(pending(second));
  CHECK(decide({.names = {a}, .route = DeviceRoute::nccl}));
  CHECK(decide({.names = {b}, .route = DeviceRoute::nccl}));
  CHECK(succeeded(first));
  CHECK(second->request.agreement->slots == std::vector<NcclSlot>{{.bucket = 1}});
  // Too large for the memory of a bucket.
  for (const char* const name : {"a", "b"}) {
    OperationRequest large = agreement_on(name, DeviceRoute::nccl);
    large.count = bucket_bytes_max / sizeof(float);
    submit(large);
  }
  CHECK_FALSE(decide({.names = {a, b}, .route = DeviceRoute::nccl}));
  named.fail_all({Errc::closed, -1, "the end"});
}

}  // namespace
}  // namespace dt

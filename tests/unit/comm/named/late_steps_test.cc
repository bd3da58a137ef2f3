#include "comm/named/late_steps.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace dt {
namespace {

/// A call of a list with one tensor.
std::shared_ptr<Operation> call_of(std::vector<float>& values, bool carries) {
  auto call = std::make_shared<Operation>();
  call->request = {.kind = OperationKind::all_reduce,
                   .count = values.size(),
                   .input = values.data(),
                   .output = values.data(),
                   .name = "g[1/1]"};
  call->request.terms = OperationTerms{.quorum = {.ranks = 1, .carries_late = carries}};
  call->list = std::make_shared<Operation>();
  call->list->parts_left = 1;
  call->list->request.result = std::make_shared<OperationResult>();
  return call;
}

/// A call that was decided without this rank, whose result is these values.
LateCall decided(const std::shared_ptr<Operation>& user, std::vector<float>& result) {
  LateCall late{.name = hash_of_name(user->request.name),
                .stand_in = std::make_shared<Operation>(),
                .call = Descriptor::of(user->request),
                .participants = {0, 2},
                .user = user};
  late.call.name.clear();
  late.stand_in->request.output = result.data();
  return late;
}

GroupPeers three(Peers& peers) {
  return {peers, 0, {0, 1, 2}};
}

TEST_CASE("a late call gets the result of the others, and who they are") {
  Peers peers({.rank = 1}, std::vector<EnginePeer>(3));
  LateSteps steps;
  std::vector<float> values = {1, 2};
  std::vector<float> result = {5, 6};
  const auto call = call_of(values, false);
  const auto list = call->list;
  steps.deliver(decided(call, result), three(peers));
  REQUIRE(call->outcome);
  CHECK(call->outcome->has_value());
  CHECK(list->outcome.has_value());
  CHECK(values == result);
  CHECK(list->request.result->counts == std::vector<size_t>{2});
  std::vector<int32_t> ranks(2);
  std::memcpy(ranks.data(), list->request.result->data.get(), 8);
  CHECK(ranks == std::vector<int32_t>{0, 2});
  CHECK(steps.counts().steps == 1);
  CHECK(steps.counts().late == 1);
  CHECK(steps.counts().carried == 0);
  const auto next = call_of(values, false);
  CHECK(steps.add_carried(next->request) == nullptr);
}

TEST_CASE("late contributions are added to the next one of that name and size") {
  Peers peers({.rank = 1}, std::vector<EnginePeer>(3));
  LateSteps steps;
  for (const bool fits : {true, false}) {
    for (const float value : {1.0F, 10.0F}) {
      std::vector<float> values = {value, value};
      std::vector<float> result = {0, 0};
      steps.deliver(decided(call_of(values, true), result), three(peers));
    }
    CHECK(steps.entries() == 1);
    std::vector<float> values(fits ? 2 : 3, 100);
    const auto next = call_of(values, true);
    const auto memory = steps.add_carried(next->request);
    CHECK((memory != nullptr) == fits);
    const auto* input = static_cast<const float*>(next->request.input);
    CHECK(input[0] == (fits ? 111 : 100));
    CHECK(input[1] == (fits ? 111 : 100));
    CHECK(values[0] == 100);
    CHECK(steps.entries() == 0);
  }
  CHECK(steps.counts().carried == 4);
}

TEST_CASE("a late call that differs from that of the others is a mismatch, and a failure is kept") {
  Peers peers({.rank = 1}, std::vector<EnginePeer>(3));
  LateSteps steps;
  std::vector<float> values(3);
  std::vector<float> result(2);
  const auto call = call_of(values, false);
  LateCall late = decided(call, result);
  late.call.count = 2;
  steps.deliver(std::move(late), three(peers));
  REQUIRE(call->outcome);
  CHECK(call->outcome->error().code == Errc::mismatch);
  CHECK(call->outcome->error().message.find("rank 1 ") != std::string::npos);
  CHECK(call->blamed_rank == 1);
  const auto other = call_of(values, false);
  steps.keep({.name = hash_of_name(other->request.name),
              .failure = OperationFailure{Errc::mismatch, 2, "differs"}});
  CHECK(steps.claim(other, three(peers)) == LateSteps::Claim::delivered);
  CHECK(other->outcome.value().error().message == "differs");
  CHECK(other->blamed_rank == 2);
  CHECK(steps.claim(call_of(values, false), three(peers)) == LateSteps::Claim::none);
}

}  // namespace
}  // namespace dt

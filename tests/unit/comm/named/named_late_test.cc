#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace dt {
namespace {

using Work = std::shared_ptr<Operation>;

/// The tensors of a rank.
struct Step {
  std::vector<float> small = std::vector<float>(3);
  std::vector<float> large = std::vector<float>(40'000);
  Work work = nullptr;
};

struct Options {
  Quorum quorum = {.ranks = 2};
  ReduceOp reduce = ReduceOp::sum;
};

void submit(EngineGroup& group, int rank, Step& step, float value, const Options& options = {}) {
  step.small.assign(3, value);
  step.large.assign(40'000, value);
  OperationRequest request{.kind = OperationKind::all_reduce,
                           .reduce = options.reduce,
                           .name = "g",
                           .result = std::make_shared<OperationResult>()};
  for (std::vector<float>* values : {&step.small, &step.large})
    request.tensors.push_back(
        {.count = values->size(), .input = values->data(), .output = values->data()});
  request.terms = OperationTerms{.quorum = options.quorum};
  step.work = group.submit(rank, std::move(request));
  group.settle();
}

bool has(const Step& step, float value) {
  return failure(step.work) == "ok" && step.small == std::vector<float>(3, value) &&
         step.large == std::vector<float>(40'000, value);
}

std::vector<int> participants(const Step& step) {
  const OperationResult& result = *step.work->request.result;
  std::vector<int> ranks(result.counts.at(0));
  std::memcpy(ranks.data(), result.data.get(), ranks.size() * sizeof(int));
  return ranks;
}

std::vector<Step> first_step(EngineGroup& group, const Options& options = {}) {
  std::vector<Step> steps(static_cast<size_t>(group.size()));
  for (int rank = 0; rank < group.size(); ++rank)
    submit(group, rank, steps[static_cast<size_t>(rank)], 1, options);
  for (const Step& step : steps)
    CHECK(failure(step.work) == "ok");
  return steps;
}

TEST_CASE("a step goes on without a late rank, whichever it is, and that gets the result later") {
  for (const auto hosts : {EngineGroup::Hosts::several, EngineGroup::Hosts::one}) {
    for (const int late : {0, 1, 2}) {
      EngineGroup group(3, seconds(5), hosts);
      std::vector<Step> steps = first_step(group);
      for (const Step& step : steps) {
        CHECK(has(step, 3));
        CHECK(participants(step) == std::vector<int>{0, 1, 2});
      }
      std::vector<int> others;
      for (const int rank : {0, 1, 2})
        if (rank != late) others.push_back(rank);
      for (const int rank : others)
        submit(group, rank, steps[static_cast<size_t>(rank)], 10);
      for (const int rank : others) {
        CHECK(has(steps[static_cast<size_t>(rank)], 20));
        CHECK(participants(steps[static_cast<size_t>(rank)]) == others);
      }
      Step& behind = steps[static_cast<size_t>(late)];
      submit(group, late, behind, 1000);
      CHECK(has(behind, 20));
      CHECK(participants(behind) == others);
      CHECK(group[late].groups().find(0)->quorum_counts().late == 1);
      CHECK(group[late].groups().find(0)->quorum_counts().steps == 2);
      CHECK(group[others[0]].groups().find(0)->quorum_counts().late == 0);
      CHECK(group[late].serves());
      for (const int rank : {2, 1, 0})
        submit(group, rank, steps[static_cast<size_t>(rank)], 2);
      // Two contributions were there first.
      CHECK(has(steps[0], 4));
      for (const int rank : {0, 1, 2})
        CHECK(group[rank].groups().named_entries() == 0);
    }
  }
}

TEST_CASE("an average is over the contributions, and what was carried counts in the next one") {
  EngineGroup group(3);
  const Options options{.quorum = {.ranks = 2, .carries_late = true}, .reduce = ReduceOp::average};
  std::vector<Step> steps = first_step(group, options);
  CHECK(has(steps[0], 1));
  submit(group, 0, steps[0], 10, options);
  submit(group, 1, steps[1], 20, options);
  CHECK(has(steps[0], 15));
  submit(group, 2, steps[2], 100, options);
  CHECK(has(steps[2], 15));
  submit(group, 2, steps[2], 1, options);
  submit(group, 0, steps[0], 1, options);
  CHECK(has(steps[0], 51));
  CHECK(has(steps[2], 51));
  submit(group, 1, steps[1], 7, options);
  CHECK(has(steps[1], 51));
  CHECK(group[2].groups().find(0)->quorum_counts().carried == 1);
  CHECK(group[1].groups().find(0)->quorum_counts().carried == 1);
}

TEST_CASE("the deadline decides a step with fewer contributions") {
  EngineGroup group(3);
  const Options options{.quorum = {.ranks = 3, .deadline_ms = 50}};
  std::vector<Step> steps = first_step(group, options);
  submit(group, 1, steps[1], 5, options);
  group.pass(milliseconds(49));
  CHECK(pending(steps[1].work));
  group.pass(milliseconds(2));
  CHECK(has(steps[1], 5));
  submit(group, 0, steps[0], 9, options);
  CHECK(has(steps[0], 5));
}

TEST_CASE("a late rank may be several steps behind, and gets their results in order") {
  EngineGroup group(2);
  const Options options{.quorum = {.ranks = 1, .behind_max = 2}};
  std::vector<Step> steps = first_step(group, options);
  for (const float value : {5.0F, 6.0F}) {
    submit(group, 0, steps[0], value, options);
    CHECK(has(steps[0], value));
  }
  submit(group, 0, steps[0], 7, options);
  CHECK(pending(steps[0].work));
  submit(group, 1, steps[1], 100, options);
  CHECK(has(steps[1], 5));
  CHECK(has(steps[0], 7));
  for (const float value : {6.0F, 7.0F}) {
    submit(group, 1, steps[1], 100, options);
    CHECK(has(steps[1], value));
  }
}

TEST_CASE("calls of a step that differ fail on all ranks, the late one included") {
  EngineGroup group(3);
  std::vector<Step> steps = first_step(group);
  submit(group, 0, steps[0], 1);
  submit(group, 1, steps[1], 1, {.reduce = ReduceOp::max});
  for (const int rank : {0, 1}) {
    const Work& work = steps[static_cast<size_t>(rank)].work;
    REQUIRE_FALSE(pending(work));
    CHECK(failure_code(work) == Errc::mismatch);
    CHECK(failure(work).find("asked for max") != std::string::npos);
  }
  submit(group, 2, steps[2], 1);
  CHECK(failure_code(steps[2].work) == Errc::mismatch);
  for (const int rank : {0, 1, 2})
    submit(group, rank, steps[static_cast<size_t>(rank)], 1);
  CHECK(has(steps[0], 2));
  CHECK(has(steps[2], 2));
  // A late call that differs fails alone.
  submit(group, 0, steps[0], 1);
  submit(group, 1, steps[1], 1);
  submit(group, 2, steps[2], 1, {.reduce = ReduceOp::max});
  CHECK(has(steps[1], 2));
  CHECK(failure_code(steps[2].work) == Errc::mismatch);
}

TEST_CASE("quorums that differ are a mismatch, and a death ends all steps") {
  EngineGroup group(2);
  std::vector<Step> steps(2);
  submit(group, 0, steps[0], 1, {.quorum = {.ranks = 1}});
  submit(group, 1, steps[1], 1, {.quorum = {.ranks = 2}});
  for (const Step& step : steps) {
    REQUIRE_FALSE(pending(step.work));
    CHECK(failure(step.work).find("a quorum of 2") != std::string::npos);
  }
  submit(group, 0, steps[0], 1);
  group.notify(0, Notice::Kind::dead, 1, "killed by SIGKILL");
  CHECK(failure_code(steps[0].work) == Errc::peer_lost);
  CHECK_FALSE(group[0].serves());
}

}  // namespace
}  // namespace dt

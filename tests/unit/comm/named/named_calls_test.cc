// The entries that named collectives keep: as many as calls are pending.
#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

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

/// Submits these sums on all ranks, on each in another order, and checks their results.
void step_with(EngineGroup& group, const std::vector<std::string>& names) {
  const size_t count = names.size();
  const auto ranks = static_cast<size_t>(group.size());
  std::vector<std::vector<std::vector<float>>> data(ranks, {count, {1, 2}});
  std::vector<std::shared_ptr<Operation>> works;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) {
      const size_t tensor = rank % 2 == 0 ? i : count - 1 - i;
      works.push_back(
          group.submit(static_cast<int>(rank), sum_of(data[rank][tensor], names[tensor])));
    }
  }
  group.settle();
  const auto n = static_cast<float>(ranks);
  size_t right = 0;
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < count; ++i)
      right += succeeded(works[rank * count + i]) && data[rank][i] == std::vector{n, 2 * n} ? 1 : 0;
  CHECK(right == ranks * count);
  for (int rank = 0; rank < group.size(); ++rank)
    CHECK(group[rank].groups().named_entries() == 0);
}

std::vector<std::string> names_of(const std::string& model, int first, int end) {
  std::vector<std::string> names;
  for (int i = first; i < end; ++i)
    names.push_back(format("{}/layer{}", model, i));
  return names;
}

TEST_CASE("names that never repeat leave nothing behind") {
  EngineGroup group(2, seconds(5), EngineGroup::Hosts::one);
  constexpr int step = 1000;
  for (int first = 0; first < 100'000; first += step)
    step_with(group, names_of("once", first, first + step));
  CHECK(group[0].next_deadline() == Time::max());
}

TEST_CASE("an undecided call is an entry until all ranks have made it") {
  EngineGroup group(2);
  std::vector<float> a = {1};
  std::vector<float> b = {2};
  group.submit(1, sum_of(a, "x"));
  group.settle();
  CHECK(group[0].groups().named_entries() == 1);
  CHECK(group[1].groups().named_entries() == 1);
  group.submit(0, sum_of(b, "x"));
  group.settle();
  CHECK(group[0].groups().named_entries() == 0);
  CHECK(group[1].groups().named_entries() == 0);
}

TEST_CASE("a step may leave some names out, and one of another model may come between") {
  for (const auto hosts : {EngineGroup::Hosts::several, EngineGroup::Hosts::one}) {
    EngineGroup group(3, seconds(5), hosts);
    for (int round = 0; round < 3; ++round) {
      step_with(group, names_of("big", 0, 200));
      step_with(group, names_of("big", 50 * round, 150));
      step_with(group, names_of("small", 0, 20));
      step_with(group, names_of("big", 0, 200));
    }
  }
}

}  // namespace
}  // namespace dt

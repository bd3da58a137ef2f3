#include "cmd/bench/tensor_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace dt {
namespace {

TEST_CASE("the models have the published numbers of tensors and weights") {
  const auto sum = [](const std::vector<size_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), size_t{0});
  };
  const auto resnet = bench_model("resnet50").value();
  CHECK(resnet.size() == 161);
  CHECK(sum(resnet) == 25'557'032);
  const auto bert = bench_model("bert-large").value();
  CHECK(bert.size() == 398);
  CHECK(sum(bert) == 336'226'108);
  CHECK(!bench_model("resnet"));
  CHECK(bench_model_names().size() == 2);
}

TEST_CASE("equal tensors have all elements") {
  CHECK(equal_tensors(7, 3) == std::vector<size_t>{3, 2, 2});
  CHECK(equal_tensors(6, 3) == std::vector<size_t>{2, 2, 2});
}

TEST_CASE("tensors lie behind each other, and each rank has another order of all of them") {
  const TensorPlan plan({3, 1, 4}, 0);
  CHECK(plan.tensors()[2].begin == 4);
  CHECK(plan.tensors()[2].count == 4);
  CHECK(plan.tensors()[2].name == "tensor2");
  const std::vector<size_t> many(50, 1);
  const TensorPlan first(many, 0);
  const TensorPlan second(many, 1);
  CHECK(!std::ranges::equal(first.order(), second.order()));
  CHECK(std::ranges::equal(first.order(), TensorPlan(many, 0).order()));
  std::vector<size_t> sorted(second.order().begin(), second.order().end());
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    CHECK(sorted[i] == i);
}

}  // namespace
}  // namespace dt

#include "comm/ps/state/shard.h"

#include "tests/unit/comm/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <array>

namespace dt {
namespace {

TEST_CASE("dense and sparse gradients of one shard add up") {
  Shard shard(plain_variable("table", {3, 2}), {.rows = 3});
  shard.initialize({});
  const Bytes dense = bytes_of<float>({1, 1, 1, 1, 1, 1});
  const Bytes rows = bytes_of<int64_t>({2});
  const Bytes row = bytes_of<float>({10, 20});
  const std::array gradients = {ShardGradient{.values = dense},
                                ShardGradient{.sparse = true, .rows = rows, .values = row}};
  const std::array scales = {0.5, 2.0};
  const GradientSum sum = shard.sum(gradients, scales);
  CHECK(sum.dense);
  CHECK(numbers_of<float>(sum.values) == std::vector<float>{0.5, 0.5, 0.5, 0.5, 20.5, 40.5});
  const GradientSum sparse = shard.sum(std::span(gradients).subspan(1), std::span(scales).first(1));
  CHECK_FALSE(sparse.dense);
  CHECK(sparse.rows == std::vector<int64_t>{2});
  CHECK(numbers_of<float>(sparse.values) == std::vector<float>{5, 10});
}

TEST_CASE("a shard counts its bytes with the numbers of its optimiser") {
  VariableSpec variable = plain_variable("w", {4});
  CHECK(Shard(variable, {.rows = 4}).bytes() == 16);
  variable.optimizer.kind = OptimizerKind::adam;
  CHECK(Shard(variable, {.rows = 4}).bytes() == 48);
  CHECK(Shard::bytes_of(variable, 4) == 48);
}

TEST_CASE("without its values, a shard takes no gradient and gives none") {
  Shard shard(plain_variable("w", {1}), {.rows = 1});
  const Bytes one = bytes_of<float>({1});
  const Result<> early = shard.check(ShardGradient{.values = one});
  REQUIRE_FALSE(early);
  CHECK(early.error().message == "variable w has no initial value yet");
  shard.initialize(one);
  CHECK(shard.check(ShardGradient{.values = one}));
  CHECK(shard.check(ShardPull{}));
}

TEST_CASE("a shard changes by the sum of dense gradients of any length") {
  constexpr size_t rows = 5000;  // more than a block
  Shard shard(plain_variable("w", {rows}), {.rows = rows});
  shard.initialize({});
  std::vector<float> numbers(rows);
  for (size_t i = 0; i < rows; ++i)
    numbers[i] = static_cast<float>(i);
  const Bytes rising = bytes_of(numbers);
  const Bytes ones = bytes_of(std::vector<float>(rows, 1));
  const std::array gradients = {ShardGradient{.values = rising}, ShardGradient{.values = ones}};
  const std::array scales = {0.5, 2.0};
  shard.apply(gradients, scales, 0);
  shard.apply(std::span(gradients).first(1), std::array{1.0}, 0);
  shard.apply(std::span(gradients).last(1), std::array{0.5}, 0);
  for (size_t i = 0; i < rows; ++i)
    numbers[i] = -(static_cast<float>(i) * 1.5F + 2.5F);
  CHECK(numbers_of<float>(shard.values().view()) == numbers);
}

TEST_CASE("values that a reply refers to stay as they are") {
  Shard shard(plain_variable("w", {1}), {.rows = 1});
  shard.initialize({});
  const ByteSpan reply = shard.values().view();
  const auto owner = shard.values().share();
  const Bytes one = bytes_of<float>({1});
  const std::array gradients = {ShardGradient{.values = one}};
  shard.apply(gradients, std::array{1.0}, 0);
  CHECK(numbers_of<float>(reply) == std::vector<float>{0});
  CHECK(numbers_of<float>(shard.values().view()) == std::vector<float>{-1});
}

}  // namespace
}  // namespace dt

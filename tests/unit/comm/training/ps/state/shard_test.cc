#include "comm/training/ps/state/shard.h"

#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace dt {
namespace {

/// The values as a reply has them.
std::vector<float> values_of(const Shard& shard) {
  const Shard::Shared shared = shard.share();
  return numbers_of<float>(MessagePart{shared.bytes, shared.later.get()}.ready());
}

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
  CHECK(values_of(shard) == numbers);
}

/// A shard of two numbers, and a gradient that it applies later.
struct ShardWithUpdate {
  ShardWithUpdate() {
    shard.initialize(bytes_of<float>({10, 20}));
    update = shard.apply_later({.values = *gradient}, 1, 0, gradient);
    shared = shard.share();
  }
  Shard shard = Shard(plain_variable("w", {2}), {.rows = 2});
  std::shared_ptr<const Bytes> gradient = std::make_shared<const Bytes>(bytes_of<float>({1, 2}));
  std::shared_ptr<LazyBytes> update;
  Shard::Shared shared;
};

TEST_CASE("a gradient that is applied later changes the values as they are needed") {
  ShardWithUpdate with;
  CHECK(with.shared.later == with.update);
  CHECK(numbers_of<float>(with.shared.bytes) == std::vector<float>{10, 20});
  with.update->compute_until(with.shared.bytes.data() + sizeof(float));
  CHECK(numbers_of<float>(with.shared.bytes) == std::vector<float>{9, 20});
  SUBCASE("by a reader") {
    CHECK(values_of(with.shard) == std::vector<float>{9, 18});
  }
  SUBCASE("by a reader of rows") {
    CHECK(numbers_of<float>(with.shard.rows(bytes_of<int64_t>({1}))) == std::vector<float>{18});
  }
  SUBCASE("by the end of the reply") {
    with.shared.later.reset();
    with.update.reset();
    CHECK(numbers_of<float>(with.shared.bytes) == std::vector<float>{9, 18});
  }
  SUBCASE("by a checkpoint") {
    Writer before;
    Writer after;
    with.shard.save(before);
    with.update->compute_until(with.shared.bytes.data() + with.shared.bytes.size());
    with.shard.save(after);
    CHECK(before.take() == after.take());
  }
  CHECK(numbers_of<float>(with.shared.bytes) == std::vector<float>{9, 18});
}

TEST_CASE("the next gradient leaves a reply to the one before as it was") {
  ShardWithUpdate with;
  const Bytes one = bytes_of<float>({1, 1});
  const std::array gradients = {ShardGradient{.values = one}};
  with.shard.apply(gradients, std::array{1.0}, 0);
  CHECK(numbers_of<float>(with.shared.bytes) == std::vector<float>{9, 18});
  CHECK(with.shard.share().later == nullptr);  // the update before has other bytes
  CHECK(values_of(with.shard) == std::vector<float>{8, 17});
}

TEST_CASE("a copy of a shard has the update, too") {
  ShardWithUpdate with;
  Shard copy = with.shard;
  const Bytes one = bytes_of<float>({1, 1});
  const std::array gradients = {ShardGradient{.values = one}};
  copy.apply(gradients, std::array{1.0}, 0);
  CHECK(values_of(copy) == std::vector<float>{8, 17});
  CHECK(values_of(with.shard) == std::vector<float>{9, 18});
}

TEST_CASE("an update of any type and optimiser outlives its shard") {
  for (const ElementType type : {ElementType::float32, ElementType::float64}) {
    for (size_t kind = 0; kind < optimizer_count; ++kind) {
      VariableSpec variable = plain_variable("w", {3000});
      variable.type = type;
      variable.optimizer.kind = static_cast<OptimizerKind>(kind);
      std::optional<Shard> shard(std::in_place, variable, ShardSpec{.rows = 3000});
      shard->initialize({});
      const std::vector<float> floats(3000, 0.5F);
      const std::vector<double> doubles(3000, 0.5);
      const bool is_float = type == ElementType::float32;
      auto gradient =
          std::make_shared<const Bytes>(is_float ? bytes_of(floats) : bytes_of(doubles));
      Shard eager = *shard;
      const std::array gradients = {ShardGradient{.values = *gradient}};
      eager.apply(gradients, std::array{2.0}, 0);
      auto update = shard->apply_later({.values = *gradient}, 2, 0, gradient);
      const Shard::Shared shared = shard->share();
      update->compute_until(shared.bytes.data() + 100);
      gradient.reset();
      shard.reset();
      CHECK_FALSE(update->complete());
      update->compute_until(shared.bytes.data() + shared.bytes.size());
      CHECK(std::ranges::equal(shared.bytes, eager.share().bytes));
    }
  }
}

TEST_CASE("an update keeps its gradient until all values are there") {
  ShardWithUpdate with;
  CHECK(with.gradient.use_count() == 2);
  static_cast<void>(values_of(with.shard));
  CHECK(with.gradient.use_count() == 1);
}

TEST_CASE("an update that is complete is no reader's matter any more") {
  ShardWithUpdate with;
  with.update->compute_until(with.shared.bytes.data() + with.shared.bytes.size());
  CHECK(with.update->complete());
  CHECK(with.shard.share().later == nullptr);
}

TEST_CASE("values that a reply refers to stay as they are") {
  Shard shard(plain_variable("w", {1}), {.rows = 1});
  shard.initialize({});
  const Shard::Shared reply = shard.share();
  const Bytes one = bytes_of<float>({1});
  const std::array gradients = {ShardGradient{.values = one}};
  shard.apply(gradients, std::array{1.0}, 0);
  CHECK(numbers_of<float>(reply.bytes) == std::vector<float>{0});
  CHECK(values_of(shard) == std::vector<float>{-1});
}

}  // namespace
}  // namespace dt

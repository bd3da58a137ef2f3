#include "comm/training/ps/state/dense_update.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace dt {
namespace {

constexpr size_t count = 5000;  // more than two blocks

/// Values that begin with zeros, and a gradient of 1, 2, and so on.
struct Numbers {
  std::vector<float> values = std::vector<float>(count);
  std::vector<float> gradient = [] {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    return numbers;
  }();

  DenseUpdateTerms<float> terms() {
    return {.optimizer = {.learning_rate = 1},
            .whole = {.value = values.data(), .count = count, .learning_rate = 1},
            .gradients = {gradient.data()},
            .scales = {1}};
  }
  const std::byte* place(size_t element) const {
    return reinterpret_cast<const std::byte*>(values.data() + element);
  }
  /// The number of elements that have changed, which are the first ones.
  size_t changed() const {
    const auto first = std::ranges::find(values, 0.0F);
    CHECK(std::all_of(first, values.end(), [](float value) { return value == 0; }));
    for (auto at = values.begin(); at != first; ++at)
      REQUIRE(*at == -gradient[static_cast<size_t>(at - values.begin())]);
    return static_cast<size_t>(first - values.begin());
  }
};

TEST_CASE("an update computes what is needed, each element once") {
  Numbers numbers;
  DenseUpdate<float> update(numbers.terms());
  CHECK(numbers.changed() == 0);
  for (const size_t end : {size_t{1}, size_t{3000}, size_t{10}, count}) {
    update.compute_until(numbers.place(end));
    CHECK(numbers.changed() == std::max<size_t>(end, end == 10 ? 3000 : 0));
  }
  update.compute_all();
  CHECK(numbers.changed() == count);
}

TEST_CASE("an element of which one byte is needed is computed") {
  Numbers numbers;
  DenseUpdate<float> update(numbers.terms());
  update.compute_until(numbers.place(2) + 1);
  CHECK(numbers.changed() == 3);
}

TEST_CASE("an update that ends early computes the rest") {
  Numbers numbers;
  {
    DenseUpdate<float> update(numbers.terms());
    update.compute_until(numbers.place(7));
  }
  CHECK(numbers.changed() == count);
}

TEST_CASE("an update keeps its arrays until all is computed") {
  Numbers numbers;
  const auto owner = std::make_shared<int>();
  DenseUpdateTerms<float> terms = numbers.terms();
  terms.owners = {owner};
  DenseUpdate<float> update(std::move(terms));
  update.compute_until(numbers.place(count - 1));
  CHECK(owner.use_count() == 2);
  update.compute_all();
  CHECK(owner.use_count() == 1);
}

TEST_CASE("several gradients are added with their scales, and slots change beside the values") {
  Numbers numbers;
  std::vector<float> accumulated(count);
  DenseUpdateTerms<float> terms = numbers.terms();
  terms.optimizer = {.kind = OptimizerKind::momentum, .learning_rate = 1, .momentum = 0.5};
  terms.whole.slots[0] = accumulated.data();
  terms.gradients.push_back(numbers.gradient.data());
  terms.scales = {0.5, 2};
  DenseUpdate<float>(std::move(terms)).compute_all();
  for (size_t i = 0; i < count; ++i) {
    REQUIRE(accumulated[i] == numbers.gradient[i] * 2.5F);
    REQUIRE(numbers.values[i] == -accumulated[i]);
  }
}

}  // namespace
}  // namespace dt

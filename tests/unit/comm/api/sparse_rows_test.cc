#include "comm/api/sparse_rows.h"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace dt {
namespace {

constexpr SparseShape ten_pairs{.rows = 10, .width = 2};

SparseRows rows_of(const SparseShape& shape, const std::vector<int64_t>& indices,
                   const std::vector<float>& values) {
  return merged_rows(shape, indices, reinterpret_cast<const std::byte*>(values.data())).value();
}

std::vector<float> values_of(const SparseRows& rows) {
  std::vector<float> values(rows.indices.size() * rows.shape.width);
  std::memcpy(values.data(), rows.values.get(), values.size() * sizeof(float));
  return values;
}

TEST_CASE("rows are sorted, and those of one index are reduced with each other") {
  const SparseRows sum = rows_of(ten_pairs, {7, 2, 7}, {1, 2, 3, 4, 10, 20});
  CHECK(sum.indices == std::vector<int64_t>{2, 7});
  CHECK(values_of(sum) == std::vector<float>{3, 4, 11, 22});
  const SparseShape most{.reduce = ReduceOp::max, .rows = 10, .width = 2};
  CHECK(values_of(rows_of(most, {7, 2, 7}, {1, 2, 3, 4, 10, 1})) ==
        std::vector<float>{3, 4, 10, 2});
}

TEST_CASE("a row that the matrix does not have is refused") {
  for (const int64_t index : {int64_t{-1}, int64_t{10}, std::numeric_limits<int64_t>::min()}) {
    const std::vector<int64_t> indices = {3, index};
    const std::vector<float> values(4);
    const auto merged =
        merged_rows(ten_pairs, indices, reinterpret_cast<const std::byte*>(values.data()));
    REQUIRE_FALSE(merged);
    CHECK(merged.error().code == Errc::input);
  }
}

TEST_CASE("the rows of all ranks are united, unless a rank has two fifths") {
  const SparseRows one = rows_of(ten_pairs, {1, 4}, {1, 1, 1, 1});
  const SparseRows other = rows_of(ten_pairs, {4, 9}, {2, 2, 2, 2});
  const SparseRows many = rows_of(ten_pairs, {0, 1, 2, 4}, std::vector<float>(8, 1));
  CHECK_FALSE(is_dense(one));
  CHECK_FALSE(is_dense(rows_of(ten_pairs, {0, 1, 2}, std::vector<float>(6, 1))));
  CHECK(is_dense(many));
  const auto united = [](const SparseRows& first, const SparseRows& second) {
    std::vector<int64_t> messages = row_message(first);
    const std::vector<int64_t> more = row_message(second);
    const std::vector<size_t> counts = {messages.size(), more.size()};
    messages.insert(messages.end(), more.begin(), more.end());
    return united_rows(messages, counts);
  };
  CHECK(united(one, other).value() == std::vector<int64_t>{1, 4, 9});
  CHECK(united(one, many).value() == std::nullopt);
  const SparseRows wide = rows_of({.rows = 10, .width = 3}, {4}, {1, 1, 1});
  const auto differs = united(one, wide);
  REQUIRE_FALSE(differs);
  CHECK(differs.error().code == Errc::mismatch);
  CHECK(differs.error().message ==
        "all_reduce_sparse: rank 1 sent 10 rows of 3 float32 with sum, rank 0 10 rows of 2 "
        "float32 with sum");
}

TEST_CASE("messages that no rank sends break the protocol") {
  const std::vector<int64_t> cut = {9, 0, 10};
  const std::vector<size_t> counts = {3};
  CHECK(united_rows(cut, counts).error().code == Errc::protocol);
  std::vector<int64_t> beyond = row_message(rows_of(ten_pairs, {1}, {1, 1}));
  beyond.push_back(10);
  const std::vector<size_t> count = {beyond.size()};
  CHECK(united_rows(beyond, count).error().code == Errc::protocol);
}

TEST_CASE("rows that this rank lacks have the value that changes no result") {
  const std::vector<int64_t> all = {1, 4, 9};
  const SparseRows sum = spread_rows(rows_of(ten_pairs, {4}, {5, 6}), all);
  CHECK(sum.indices == all);
  CHECK_FALSE(sum.dense);
  CHECK(values_of(sum) == std::vector<float>{0, 0, 5, 6, 0, 0});
  const SparseShape products{.reduce = ReduceOp::product, .rows = 3, .width = 1};
  const SparseRows dense = spread_rows(rows_of(products, {1}, {7}), std::nullopt);
  CHECK(dense.dense);
  CHECK(dense.indices == std::vector<int64_t>{0, 1, 2});
  CHECK(values_of(dense) == std::vector<float>{1, 7, 1});
}

}  // namespace
}  // namespace dt

// Rows that differ between the ranks, in C and C++.
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace dt {
namespace {

constexpr int ranks = 3;
constexpr dtrain::MatrixSize size = {.rows = 40, .width = 3};

struct Rows {
  std::vector<int64_t> indices;
  std::vector<float> values;
};

/// Some rows of a rank, with repeated ones. The values are small integers, so that every order of
/// additions has one result.
Rows rows_of(int rank, size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  Rows rows;
  for (size_t i = 0; i < count; ++i) {
    rows.indices.push_back(static_cast<int64_t>(random() % size.rows));
    for (size_t j = 0; j < size.width; ++j)
      rows.values.push_back(static_cast<float>(random() % 100));
  }
  return rows;
}

/// The sum of the rows of all ranks, in their order.
std::map<int64_t, std::vector<float>> folded(const std::vector<size_t>& counts) {
  std::map<int64_t, std::vector<float>> sums;
  for (int rank = 0; rank < ranks; ++rank) {
    const Rows rows = rows_of(rank, counts[static_cast<size_t>(rank)]);
    for (size_t i = 0; i < rows.indices.size(); ++i) {
      std::vector<float>& sum = sums.try_emplace(rows.indices[i], size.width, 0.0F).first->second;
      for (size_t j = 0; j < size.width; ++j)
        sum[j] += rows.values[i * size.width + j];
    }
  }
  return sums;
}

TEST_CASE("the result is the fold of the rows of all ranks, sparse or dense") {
  // The counts of the ranks; the last ones are dense.
  const std::vector<std::vector<size_t>> cases = {
      {0, 0, 0}, {1, 0, 0}, {5, 5, 5}, {12, 3, 0}, {2, 90, 1}};
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = ranks, .per_host = 3, .transport = transport});
    check_all_well(world.run([&](dtrain::Context& context) {
      for (const std::vector<size_t>& counts : cases) {
        const Rows rows = rows_of(context.rank(), counts[static_cast<size_t>(context.rank())]);
        const auto sum = context.all_reduce_sparse(rows.indices, rows.values, size);
        const auto wanted = folded(counts);
        CHECK(sum.dense() == (counts[1] == 90));
        CHECK(sum.indices().size() == (sum.dense() ? size.rows : wanted.size()));
        for (size_t i = 0; i < sum.indices().size(); ++i) {
          const auto row = wanted.find(sum.indices()[i]);
          for (size_t j = 0; j < size.width; ++j)
            CHECK(sum.values()[i * size.width + j] == (row == wanted.end() ? 0 : row->second[j]));
        }
      }
    }));
  }
}

TEST_CASE("averages, scales, compression and names are those of all_reduce") {
  World world({.size = 2, .per_host = 1});
  check_all_well(world.run([](dtrain::Context& context) {
    // The ranks have one row in common.
    const std::vector<int64_t> indices = {5, 10 + context.rank()};
    const std::vector<float> values = {4, 8};
    const auto call = [&](const std::string& name, const dtrain::OpOptions& options,
                          const std::vector<float>& wanted) {
      dtrain::OpOptions named = options;
      named.name = name;
      const auto mean =
          context.all_reduce_sparse(indices, values, {.rows = 100}, dtrain::Op::average, named);
      CHECK(std::vector<int64_t>(mean.indices().begin(), mean.indices().end()) ==
            std::vector<int64_t>{5, 10, 11});
      CHECK(std::vector<float>(mean.values().begin(), mean.values().end()) == wanted);
    };
    call("plain", {}, {4, 4, 4});
    call("scaled", {.prescale = 2, .postscale = 10}, {80, 80, 80});
    call("half", {.compression = dtrain::Compression::float16}, {4, 4, 4});
  }));
}

TEST_CASE("matrices that differ are a mismatch on all ranks, and the context stays usable") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const std::vector<int64_t> indices = {5};
    const std::vector<float> values = {4};
    const RankOutcome outcome = World::outcome_of([&] {
      context.all_reduce_sparse(indices, values, {.rows = context.rank() == 0 ? 100U : 200U});
    });
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(contains(outcome.text, "rank 1 sent 200 rows of 1 float32 with sum"));
    const auto sum = context.all_reduce_sparse(indices, values, {.rows = 100});
    CHECK(sum.values()[0] == 8);
  }));
}

TEST_CASE("wrong arguments of a sparse reduction") {
  const Alone alone;
  const int64_t index = 3;
  const float value = 1;
  const auto refusal = [&](const dtrain_sparse_rows* rows,
                           const dtrain_op_options* options = nullptr, dtrain_op op = DTRAIN_SUM) {
    dtrain_error error = new_error();
    dtrain_work* work = nullptr;
    CHECK(dtrain_all_reduce_sparse(alone.context, rows, op, &work, options, &error) ==
          DTRAIN_ERROR_INPUT);
    CHECK(work == nullptr);
    return std::string(error.text);
  };
  const dtrain_sparse_rows good = {sizeof good, &index, &value, 1, 10, 1, DTRAIN_FLOAT32};
  CHECK(refusal(nullptr) == "the dtrain_sparse_rows are NULL");
  dtrain_sparse_rows rows = good;
  rows.rows = 3;
  CHECK(refusal(&rows) == "row 3 is not one of the 3 rows from 0");
  rows = good;
  rows.width = 0;
  CHECK(refusal(&rows) == "dtrain_sparse_rows.width is 0; give at least 1");
  rows = good;
  rows.values = nullptr;
  CHECK(refusal(&rows) == "indices or values of dtrain_sparse_rows are NULL");
  rows = good;
  rows.rows = SIZE_MAX / 2;
  CHECK(contains(refusal(&rows), "are too large"));
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.prescale = 2;
  CHECK(contains(refusal(&good, &options, DTRAIN_MAX), "only if it is a sum or an average"));
  dtrain_error error = new_error();
  CHECK(dtrain_all_reduce_sparse(alone.context, &good, DTRAIN_SUM, nullptr, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  dtrain_work* work = nullptr;
  REQUIRE(dtrain_all_reduce_sparse(alone.context, &good, DTRAIN_SUM, &work, nullptr, &error) ==
          DTRAIN_OK);
  dtrain_sparse_result result = {};
  result.struct_size = sizeof result;
  REQUIRE(dtrain_work_sparse(work, &result, &error) == DTRAIN_OK);
  CHECK(result.count == 1);
  CHECK(result.indices[0] == 3);
  CHECK(result.type == DTRAIN_FLOAT32);
  dtrain_work_free(work);
  CHECK(dtrain_work_sparse(nullptr, &result, &error) == DTRAIN_ERROR_INPUT);
}

}  // namespace
}  // namespace dt

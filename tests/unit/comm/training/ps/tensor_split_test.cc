#include "comm/training/ps/tensor_split.h"

#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

namespace dt {
namespace {

/// Five rows of two numbers: three on server 0, two on server 1.
struct Table {
  VariableSpec variable = plain_variable("table", {5, 2});
  std::array<PlacedShard, 2> shards = {PlacedShard{{.number = 4, .first_row = 0, .rows = 3}, 0},
                                       PlacedShard{{.number = 5, .first_row = 3, .rows = 2}, 1}};
};

TEST_CASE("a sparse gradient goes to the servers of its rows, and values come back in order") {
  const Table table;
  const std::vector<int64_t> rows = {4, 0, 3};
  const Bytes gradient = bytes_of<float>({40, 41, 0, 1, 30, 31});
  Bytes values(gradient.size());
  TensorSplit split(2);
  const PsTensor tensor{.variable = &table.variable,
                        .shards = table.shards,
                        .sparse = true,
                        .rows = rows,
                        .gradient = gradient,
                        .values = values};
  REQUIRE(split.add_gradient(tensor));
  REQUIRE(split.add_pull(tensor));
  REQUIRE(split.gradients(0).size() == 1);
  CHECK(numbers_of<int64_t>(split.gradients(0)[0].rows) == std::vector<int64_t>{0});
  CHECK(numbers_of<float>(split.gradients(0)[0].values) == std::vector<float>{0, 1});
  CHECK(split.gradients(1)[0].shard == 5);
  CHECK(numbers_of<int64_t>(split.gradients(1)[0].rows) == std::vector<int64_t>{1, 0});
  CHECK(numbers_of<float>(split.gradients(1)[0].values) == std::vector<float>{40, 41, 30, 31});
  const Bytes from_zero = bytes_of<float>({7, 8});
  const Bytes from_one = bytes_of<float>({1, 2, 3, 4});
  REQUIRE(split.take_values(0, {from_zero}));
  REQUIRE(split.take_values(1, {from_one}));
  CHECK(numbers_of<float>(values) == std::vector<float>{1, 2, 7, 8, 3, 4});
  CHECK_FALSE(split.take_values(1, {from_zero}));
  CHECK_FALSE(split.take_values(1, {}));
}

TEST_CASE("a server without rows of a sparse tensor gets nothing of it") {
  const Table table;
  const std::vector<int64_t> rows = {1};
  const Bytes gradient = bytes_of<float>({1, 1});
  TensorSplit split(2);
  REQUIRE(split.add_gradient({.variable = &table.variable,
                              .shards = table.shards,
                              .sparse = true,
                              .rows = rows,
                              .gradient = gradient}));
  CHECK(split.gradients(1).empty());
}

TEST_CASE("the global norm is that of all gradients together") {
  const VariableSpec narrow = plain_variable("a", {2});
  VariableSpec wide = plain_variable("b", {1});
  wide.type = ElementType::float64;
  const Bytes first = bytes_of<float>({2, 3});
  const Bytes second = bytes_of<double>({6});
  const std::array tensors = {PsTensor{.variable = &narrow, .gradient = first},
                              PsTensor{.variable = &wide, .gradient = second}};
  CHECK(global_norm(tensors) == doctest::Approx(7));
}

TEST_CASE(
    "a declaration is divided into the shards of each server, with values of the first rank") {
  const VariableSpec variable = plain_variable("w", {3});
  const Bytes initial = bytes_of<float>({1, 2, 3});
  const PsDeclaration declared{variable, initial};
  const std::vector<PlacedShard> placed = {
      {{.number = 4, .variable = 7, .rows = 2}, 1},
      {{.number = 5, .variable = 7, .first_row = 2, .rows = 1}, 0}};
  DeclareRequest common{.first_variable = 7, .variables = {variable}, .initializes = true};
  const auto requests = split_declaration(common, {&declared, 1}, placed, 2);
  CHECK(numbers_of<float>(requests[0].shards.at(0).initial) == std::vector<float>{3});
  CHECK(numbers_of<float>(requests[1].shards.at(0).initial) == std::vector<float>{1, 2});
  CHECK(requests[1].variables == common.variables);
  common.initializes = false;
  CHECK(split_declaration(common, {&declared, 1}, placed, 2)[1].shards.at(0).initial.empty());
}

TEST_CASE("values that arrive in their place are not copied again") {
  const Table table;
  Bytes values(40);
  TensorSplit split(2);
  REQUIRE(split.add_pull({.variable = &table.variable, .shards = table.shards, .values = values}));
  // 24 bytes of server 0: the first 16 are placed, the others come in the reply.
  const auto place = split.place(0, {.value = 0, .offset = 0, .size = 24}, 16);
  REQUIRE(place);
  CHECK(place->data() == values.data());
  CHECK(place->size() == 16);
  const Bytes placed = bytes_of<float>({1, 2, 3, 4});
  std::ranges::copy(placed, place->begin());
  const Bytes reply = bytes_of<float>({0, 0, 0, 0, 5, 6});
  REQUIRE(split.take_values(0, {reply}));
  CHECK(numbers_of<float>(ByteSpan(values).first(24)) == std::vector<float>{1, 2, 3, 4, 5, 6});
  // A reply that begins anew has no placed bytes.
  split.restart(0);
  REQUIRE(split.take_values(0, {reply}));
  CHECK(numbers_of<float>(ByteSpan(values).first(24)) == std::vector<float>{0, 0, 0, 0, 5, 6});
}

TEST_CASE("bytes that do not fit a tensor, or leave a gap, get no place in it") {
  const Table table;
  Bytes values(40);
  const std::vector<int64_t> rows = {1};
  TensorSplit split(2);
  REQUIRE(split.add_pull({.variable = &table.variable, .shards = table.shards, .values = values}));
  Bytes row(8);
  REQUIRE(split.add_pull({.variable = &table.variable,
                          .shards = table.shards,
                          .sparse = true,
                          .rows = rows,
                          .values = row}));
  CHECK_FALSE(split.place(0, {.value = 0, .offset = 0, .size = 32}, 8));
  CHECK_FALSE(split.place(0, {.value = 0, .offset = 8, .size = 24}, 8));
  CHECK_FALSE(split.place(0, {.value = 0, .offset = 0, .size = 24}, 25));
  CHECK_FALSE(split.place(0, {.value = 1, .offset = 0, .size = 8}, 8));
  CHECK_FALSE(split.place(0, {.value = 2, .offset = 0, .size = 24}, 8));
}

}  // namespace
}  // namespace dt

#include "comm/training/ps/state/placement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace dt {
namespace {

VariableSpec variable(std::string name, std::vector<uint64_t> shape) {
  return {.name = std::move(name), .shape = std::move(shape)};
}

std::vector<uint32_t> servers_of(const std::vector<PlacedShard>& placed) {
  std::vector<uint32_t> servers;
  for (const PlacedShard& shard : placed)
    servers.push_back(shard.server);
  return servers;
}

TEST_CASE("rows are divided as TensorFlow's partitioners do") {
  struct Case {
    uint64_t rows;
    ShardingRule rule;
    std::vector<uint64_t> expected;
  };
  // One row has 1 KiB.
  const std::vector<Case> cases = {
      {10, {}, {10}},
      {10, {.fixed = 3}, {4, 3, 3}},
      {2, {.fixed = 3}, {1, 1}},
      {10, {.bytes_max = 4096}, {4, 3, 3}},
      {10, {.bytes_max = 100}, std::vector<uint64_t>(10, 1)},
      {10, {.bytes_min = 4096}, {5, 5}},
      {100, {.bytes_min = 4096}, {25, 25, 25, 25}},
      {3, {.bytes_min = 4096}, {3}},
  };
  for (const Case& which : cases)
    CHECK(shard_rows(variable("w", {which.rows, 256}), which.rule, 4) == which.expected);
  CHECK(shard_rows(variable("scalar", {}), {.fixed = 8}, 4) == std::vector<uint64_t>{1});
}

TEST_CASE("each rule chooses its servers") {
  const std::vector<VariableSpec> variables = {variable("a", {1}), variable("b", {10}),
                                               variable("c", {2}), variable("d", {8}),
                                               variable("e", {1})};
  struct Case {
    PlacementRule rule;
    std::vector<uint32_t> expected;
    std::vector<uint64_t> loads;
  };
  const std::vector<Case> cases = {
      {PlacementRule::round_robin, {0, 1, 0, 1, 0}, {16, 72}},
      {PlacementRule::greedy, {0, 1, 0, 0, 1}, {44, 44}},
      {PlacementRule::lpt, {0, 0, 1, 1, 1}, {44, 44}},
  };
  for (const Case& which : cases) {
    Placement placement({.servers = 2, .rule = which.rule, .sharding = {}});
    CHECK(servers_of(placement.add(variables)) == which.expected);
    CHECK(placement.loads() == which.loads);
  }
}

TEST_CASE("by hash, a variable's server depends on its name alone") {
  const auto place_of_b = [](const std::vector<VariableSpec>& variables) {
    Placement placement({.servers = 3, .rule = PlacementRule::hash, .sharding = {}});
    return placement.add(variables).back().server;
  };
  CHECK(place_of_b({variable("b", {1})}) ==
        place_of_b({variable("a", {5}), variable("c", {7}), variable("b", {1})}));
}

TEST_CASE("later declarations continue the numbers and loads of earlier ones") {
  Placement placement({.servers = 2, .rule = PlacementRule::greedy, .sharding = {.fixed = 2}});
  const std::vector first = {variable("a", {3})};
  const std::vector second = {variable("b", {2})};
  CHECK(placement.add(first) ==
        std::vector<PlacedShard>{{{.number = 0, .variable = 0, .first_row = 0, .rows = 2}, 0},
                                 {{.number = 1, .variable = 0, .first_row = 2, .rows = 1}, 1}});
  CHECK(placement.add(second) ==
        std::vector<PlacedShard>{{{.number = 2, .variable = 1, .first_row = 0, .rows = 1}, 1},
                                 {{.number = 3, .variable = 1, .first_row = 1, .rows = 1}, 0}});
  CHECK(placement.table() ==
        "variable     first row          rows           bytes  server\n"
        "a                    0             2               8  0\n"
        "a                    2             1               4  1\n"
        "b                    0             1               4  1\n"
        "b                    1             1               4  0\n"
        "server 0: 12 bytes\n"
        "server 1: 8 bytes\n");
}

/// The variables of BERT-large: 24 layers of 1024 numbers, 30,522 words.
std::vector<VariableSpec> bert_large() {
  std::vector<VariableSpec> all = {variable("words", {30522, 1024}),
                                   variable("places", {512, 1024}), variable("kinds", {2, 1024}),
                                   variable("norm", {2048})};
  for (int layer = 0; layer < 24; ++layer) {
    const std::string prefix = "layer" + std::to_string(layer) + "/";
    for (const char* name : {"query", "key", "value", "output"}) {
      all.push_back(variable(prefix + name, {1024, 1024}));
      all.push_back(variable(prefix + name + "/bias", {1024}));
    }
    all.push_back(variable(prefix + "wide", {1024, 4096}));
    all.push_back(variable(prefix + "wide/bias", {4096}));
    all.push_back(variable(prefix + "narrow", {4096, 1024}));
    all.push_back(variable(prefix + "narrow/bias", {1024}));
    all.push_back(variable(prefix + "norms", {4096}));
  }
  return all;
}

std::vector<VariableSpec> vgg_16() {
  std::vector<VariableSpec> all;
  uint64_t in = 3;
  int number = 0;
  for (const uint64_t out : {64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512}) {
    const std::string name = "conv" + std::to_string(number++);
    all.push_back(variable(name, {3, 3, in, out}));
    all.push_back(variable(name + "/bias", {out}));
    in = out;
  }
  all.push_back(variable("fc6", {25088, 4096}));
  all.push_back(variable("fc7", {4096, 4096}));
  all.push_back(variable("fc8", {4096, 1000}));
  return all;
}

TEST_CASE("with LPT and shards, the bytes of the servers differ by less than 10 %") {
  for (const auto& model : {bert_large(), vgg_16()}) {
    for (const uint32_t servers : {2, 3, 4, 8, 16}) {
      Placement placement({.servers = servers});
      placement.add(model);
      const auto [least, most] = std::ranges::minmax_element(placement.loads());
      INFO(model.front().name << " on " << servers);
      CHECK(static_cast<double>(*most) <= 1.1 * static_cast<double>(*least));
    }
  }
}

}  // namespace
}  // namespace dt

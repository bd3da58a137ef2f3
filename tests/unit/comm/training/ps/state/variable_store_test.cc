#include "comm/training/ps/state/variable_store.h"

#include "tests/unit/comm/training/ps/state/tensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace dt {
namespace {

std::vector<float> values_of(const VariableStore& store, uint32_t shard) {
  PsReply reply;
  const ShardPull pull{.shard = shard};
  REQUIRE(store.check({&pull, 1}));
  store.pull({&pull, 1}, reply);
  return numbers_of<float>(reply.values[0]);
}

/// The values as they are sent.
std::vector<float> sent_values(const PsReply& reply) {
  const Bytes sent = encode(reply);
  return numbers_of<float>(decode_ps_reply(sent).value().values.at(0));
}

/// A push of one gradient with the bytes that it refers to.
std::pair<PushRequest, std::shared_ptr<const Bytes>> dense_push(const std::vector<float>& gradient,
                                                                uint64_t round = 0) {
  auto body = std::make_shared<const Bytes>(bytes_of(gradient));
  return {{.round = round, .gradients = {{.shard = 0, .values = *body}}}, body};
}

void declare_pair(VariableStore& store) {
  const DeclaredWhole pair(0, plain_variable("w", {2}), {10, 20});
  REQUIRE(store.declare("worker:0", pair.request));
}

TEST_CASE("a push changes the values at once") {
  VariableStore store;
  declare_pair(store);
  const auto [push, body] = dense_push({1, 2});
  REQUIRE(store.push(push));
  CHECK(values_of(store, 0) == std::vector<float>{9, 18});
  CHECK(store.step() == 1);
}

TEST_CASE("what is pulled with a push is computed when somebody needs it") {
  VariableStore store;
  declare_pair(store);
  const auto [push, body] = dense_push({1, 2});
  PushRequest both = push;
  both.pulls = {{.shard = 0}};
  PsReply reply;
  REQUIRE(store.push_and_pull(both, body, reply));
  CHECK(store.step() == 1);
  CHECK(numbers_of<float>(reply.values.at(0)) == std::vector<float>{10, 20});
  SUBCASE("by the reply") {
    CHECK(sent_values(reply) == std::vector<float>{9, 18});
  }
  SUBCASE("by the next push") {
    const auto [next, next_body] = dense_push({1, 1});
    REQUIRE(store.push(next));
    CHECK(values_of(store, 0) == std::vector<float>{8, 17});
  }
  SUBCASE("by another pull") {
    PsReply other;
    store.pull(both.pulls, other);
    CHECK(sent_values(other) == std::vector<float>{9, 18});
  }
  CHECK(numbers_of<float>(reply.values.at(0)) == std::vector<float>{9, 18});
}

TEST_CASE("a push that does not pull what it changes changes that at once") {
  VariableStore store;
  declare_pair(store);
  const auto [push, body] = dense_push({1, 2});
  PsReply reply;
  REQUIRE(store.push_and_pull(push, body, reply));
  CHECK(reply.values.empty());
  CHECK(values_of(store, 0) == std::vector<float>{9, 18});
}

TEST_CASE("a push has its own learning rate and scale") {
  VariableStore store;
  declare_pair(store);
  auto [push, body] = dense_push({1, 2});
  push.learning_rate = 0.5;
  push.scale = 4;
  REQUIRE(store.push(push));
  CHECK(values_of(store, 0) == std::vector<float>{8, 16});
}

TEST_CASE("held pushes of a round are averaged when it is decided, once") {
  VariableStore store;
  declare_pair(store);
  for (const auto& [worker, gradient] : {std::pair(0U, 2.0F), std::pair(1U, 4.0F)}) {
    auto [push, body] = dense_push({gradient, 0});
    REQUIRE(store.hold(worker, push, body));
  }
  // A third worker is late.
  auto [late, late_body] = dense_push({100, 100});
  REQUIRE(store.hold(2, late, late_body));
  CHECK(values_of(store, 0) == std::vector<float>{10, 20});
  const PsDecision decision{.round = 1, .workers = {0, 1}};
  REQUIRE(store.apply(decision));
  REQUIRE(store.apply(decision));
  CHECK(values_of(store, 0) == std::vector<float>{7, 20});
  CHECK(store.step() == 1);
  CHECK(store.held() == 0);
}

TEST_CASE("the next push of a worker replaces its held one") {
  VariableStore store;
  declare_pair(store);
  for (const float gradient : {50.0F, 1.0F}) {
    auto [push, body] = dense_push({gradient, gradient});
    REQUIRE(store.hold(0, push, body));
  }
  REQUIRE(store.apply({.round = 1, .workers = {0}}));
  CHECK(values_of(store, 0) == std::vector<float>{9, 19});
}

TEST_CASE("a decision that lacks a push, or comes too early, has no effect") {
  VariableStore store;
  declare_pair(store);
  CHECK_FALSE(store.apply({.round = 1, .workers = {0}}));
  CHECK_FALSE(store.apply({.round = 2, .workers = {}}));
  CHECK(values_of(store, 0) == std::vector<float>{10, 20});
}

TEST_CASE("a sparse push changes its rows, and adds rows that occur twice") {
  VariableStore store;
  const DeclaredWhole table(0, plain_variable("table", {3, 2}), {1, 1, 2, 2, 3, 3});
  REQUIRE(store.declare("worker:0", table.request));
  const Bytes rows = bytes_of<int64_t>({2, 0, 2});
  const Bytes values = bytes_of<float>({1, 0, 0.5, 0, 1, 1});
  const PushRequest push{
      .gradients = {{.shard = 0, .sparse = true, .rows = rows, .values = values}}};
  REQUIRE(store.push(push));
  CHECK(values_of(store, 0) == std::vector<float>{0.5, 1, 2, 2, 1, 2});
}

TEST_CASE("a sparse gradient of Adam moves all rows, as TensorFlow's does") {
  VariableStore sparse;
  VariableStore dense;
  VariableSpec variable = plain_variable("table", {2});
  variable.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.1};
  const DeclaredWhole table(0, variable, {1, 1});
  for (VariableStore* store : {&sparse, &dense})
    REQUIRE(store->declare("worker:0", table.request));
  const Bytes rows = bytes_of<int64_t>({1});
  const Bytes one = bytes_of<float>({3});
  const Bytes both = bytes_of<float>({0, 3});
  for (int i = 0; i < 3; ++i) {
    REQUIRE(
        sparse.push({.gradients = {{.shard = 0, .sparse = true, .rows = rows, .values = one}}}));
    REQUIRE(dense.push({.gradients = {{.shard = 0, .values = both}}}));
  }
  CHECK(values_of(sparse, 0) == values_of(dense, 0));
}

TEST_CASE("sparse pulls have the rows in their order") {
  VariableStore store;
  const DeclaredWhole table(0, plain_variable("table", {3, 2}), {1, 2, 3, 4, 5, 6});
  REQUIRE(store.declare("worker:0", table.request));
  const Bytes rows = bytes_of<int64_t>({2, 0});
  const ShardPull pull{.shard = 0, .sparse = true, .rows = rows};
  PsReply reply;
  REQUIRE(store.check({&pull, 1}));
  store.pull({&pull, 1}, reply);
  CHECK(numbers_of<float>(reply.values[0]) == std::vector<float>{5, 6, 1, 2});
}

TEST_CASE("wrong pushes and pulls are named, and have no effect") {
  VariableStore store;
  declare_pair(store);
  const Bytes short_values = bytes_of<float>({1});
  const Bytes bad_row = bytes_of<int64_t>({2});
  struct Case {
    ShardGradient gradient;
    const char* message;
  };
  const std::vector<Case> cases = {
      {{.shard = 7, .values = short_values}, "shard 7 is not declared on this server"},
      {{.shard = 0, .values = short_values},
       "variable w: a gradient of 2 rows has 4 bytes, expected 8"},
      {{.shard = 0, .sparse = true, .rows = bad_row, .values = short_values},
       "variable w: row 2 of the shard does not exist; it has 2"},
      {{.shard = 0, .sparse = true, .rows = short_values, .values = short_values},
       "variable w: 4 bytes are no list of rows"},
  };
  const Bytes good = bytes_of<float>({5, 5});
  for (const Case& which : cases) {
    const Result<> pushed =
        store.push({.gradients = {{.shard = 0, .values = good}, which.gradient}});
    REQUIRE_FALSE(pushed);
    CHECK(pushed.error().message == which.message);
  }
  CHECK(values_of(store, 0) == std::vector<float>{10, 20});
  const ShardPull unknown{.shard = 3};
  CHECK_FALSE(store.check({&unknown, 1}));
}

TEST_CASE("declarations that differ are refused, and name both tasks") {
  VariableStore store;
  declare_pair(store);
  struct Case {
    VariableSpec variable;
    const char* message;
  };
  VariableSpec other_rate = plain_variable("w", {2});
  other_rate.optimizer.learning_rate = 2;
  const std::vector<Case> cases = {
      {plain_variable("w", {3}),
       "variable w: worker:1 declares float32[3], sgd, but worker:0 declared float32[2], sgd"},
      {other_rate,
       "variable w: worker:1 declares float32[2], sgd, but worker:0 declared float32[2], sgd with "
       "other settings of the optimiser"},
      {plain_variable("v", {2}),
       "worker:1 declares v where worker:0 declared w; declare all variables in one order"},
  };
  for (const Case& which : cases) {
    const DeclaredWhole other(0, which.variable, std::vector<float>(which.variable.rows()));
    const Result<> declared = store.declare("worker:1", other.request);
    REQUIRE_FALSE(declared);
    CHECK(declared.error().code == Errc::mismatch);
    CHECK(declared.error().message == which.message);
  }
  const DeclaredWhole again(1, plain_variable("w", {2}), {0, 0});
  const Result<> twice = store.declare("worker:0", again.request);
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message == "variable w is declared twice");
  const DeclaredWhole same(0, plain_variable("w", {2}), {0, 0});
  CHECK(store.declare("worker:1", same.request));
  CHECK(values_of(store, 0) == std::vector<float>{10, 20});
}

TEST_CASE("beyond its limits a store refuses variables") {
  VariableStore few({.variables = 1});
  declare_pair(few);
  const DeclaredWhole second(1, plain_variable("v", {2}), {0, 0});
  const Result<> one_more = few.declare("worker:0", second.request);
  REQUIRE_FALSE(one_more);
  CHECK(one_more.error().code == Errc::refused);
  VariableStore small({.bytes = 15});
  const DeclaredWhole fits(0, plain_variable("a", {2}), {0, 0});
  REQUIRE(small.declare("worker:0", fits.request));
  const Result<> beyond = small.declare("worker:0", second.request);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().message ==
        "the variables need more than the server's 15 bytes; start more parameter servers");
  CHECK(small.variables() == 1);
}

/// A saved store, with all arrays one after the other.
struct SavedWhole {
  Bytes head;
  Bytes arrays;
  bool operator==(const SavedWhole&) const = default;
};

SavedWhole save(const VariableStore& store) {
  Writer head;
  store.save(head);
  Writer arrays;
  for (const ByteSpan array : store.arrays())
    arrays.raw(array);
  return {head.take(), arrays.take()};
}

Result<> load(VariableStore& store, const SavedWhole& saved) {
  Reader head(saved.head);
  Reader arrays(saved.arrays);
  const SavedStore checked = TRY(store.check(head, saved.arrays.size()));
  return store.load(checked, [&](std::span<std::byte> array) {
    std::ranges::copy(arrays.raw(array.size()), array.begin());
    return Result<>();
  });
}

TEST_CASE("a saved store is loaded bit for bit") {
  VariableStore store;
  VariableSpec variable = plain_variable("w", {2});
  variable.optimizer = {.kind = OptimizerKind::adam, .learning_rate = 0.1};
  const DeclaredWhole declared(0, variable, {10, 20});
  REQUIRE(store.declare("worker:0", declared.request));
  const auto [push, body] = dense_push({1, 2});
  REQUIRE(store.push(push));
  const SavedWhole saved = save(store);

  VariableStore fresh;
  REQUIRE(load(fresh, saved));
  CHECK(fresh.step() == 1);
  REQUIRE(store.push(push));
  REQUIRE(fresh.push(push));
  CHECK(values_of(fresh, 0) == values_of(store, 0));
  CHECK(save(fresh) == save(store));
  REQUIRE(load(fresh, saved));
  CHECK(save(fresh) == saved);

  VariableStore other;
  const DeclaredWhole shape(0, plain_variable("w", {3}), {0, 0, 0});
  REQUIRE(other.declare("worker:0", shape.request));
  const Result<> loaded = load(other, saved);
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Errc::mismatch);
  CHECK(values_of(other, 0) == std::vector<float>{0, 0, 0});
}

TEST_CASE("a store whose arrays cannot be read has no values") {
  VariableStore store;
  declare_pair(store);
  const SavedWhole saved = save(store);
  Reader head(saved.head);
  const SavedStore checked = store.check(head, saved.arrays.size()).value();
  CHECK_FALSE(store.load(checked, [](std::span<std::byte>) { return fail(Errc::os, "read"); }));
  CHECK(store.check(std::vector<ShardPull>{{.shard = 0}}).error().message ==
        "variable w has no initial value yet");
}

TEST_CASE("no beginning of a saved store can be loaded") {
  VariableStore store;
  declare_pair(store);
  const SavedWhole saved = save(store);
  for (size_t length = 0; length < saved.head.size(); ++length) {
    VariableStore fresh;
    Reader reader(ByteSpan(saved.head).first(length));
    CHECK_FALSE(fresh.check(reader, saved.arrays.size()));
  }
  for (size_t length = 0; length < saved.arrays.size(); ++length) {
    VariableStore fresh;
    Reader reader(saved.head);
    CHECK_FALSE(fresh.check(reader, length));
  }
}

}  // namespace
}  // namespace dt

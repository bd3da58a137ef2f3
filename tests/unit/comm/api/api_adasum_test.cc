// Adasum, the adaptive sum of whole tensors.
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace dt {
namespace {

using dtrain::Op;
using Floats = std::vector<float>;

/// The definition, in float64.
Floats pair_sum(const Floats& a, const Floats& b) {
  double aa = 0;
  double bb = 0;
  double ab = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
    ab += double{a[i]} * double{b[i]};
  }
  Floats sum(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    sum[i] = static_cast<float>((aa == 0 ? 1 : 1 - ab / (2 * aa)) * double{a[i]} +
                                (bb == 0 ? 1 : 1 - ab / (2 * bb)) * double{b[i]});
  }
  return sum;
}

/// Reduces the inputs of all ranks in pairs, as dtrain.h describes it.
Floats expected(std::vector<Floats> inputs) {
  const size_t beyond = inputs.size() - std::bit_floor(inputs.size());
  for (size_t i = 0; i < beyond; ++i) {
    inputs[i] = pair_sum(inputs[i], inputs[i + 1]);
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  while (inputs.size() > 1) {
    std::vector<Floats> pairs;
    for (size_t i = 0; i < inputs.size(); i += 2)
      pairs.push_back(pair_sum(inputs[i], inputs[i + 1]));
    inputs = pairs;
  }
  return inputs.front();
}

Floats input_of(int rank, size_t count, int salt = 0) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<size_t>(rank * 13 + salt)) % 23) - 9.5F;
  return values;
}

std::vector<Floats> inputs_of(int size, size_t count, int salt = 0) {
  std::vector<Floats> inputs;
  for (int rank = 0; rank < size; ++rank)
    inputs.push_back(input_of(rank, count, salt));
  return inputs;
}

void check_near(const Floats& found, const Floats& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    REQUIRE(found[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
}

TEST_CASE("all ranks have the adaptive sum of their inputs, with the same bits") {
  for (const auto& options : std::initializer_list<World::Options>{
           {.size = 1},
           {.size = 2, .per_host = 2},
           {.size = 2, .per_host = 1},
           {.size = 3, .per_host = 3},
           {.size = 4, .per_host = 2},
           {.size = 5, .per_host = 5, .transport = dtrain::Transport::tcp},
           {.size = 7, .per_host = 4},
           {.size = 8, .per_host = 8},
           {.size = 4, .per_host = 1, .algorithms = "deterministic"}}) {
    CAPTURE(options.size);
    World world(options);
    std::mutex mutex;
    std::map<size_t, Floats> first;
    check_all_well(world.run([&](dtrain::Context& context) {
      for (const size_t count : {size_t{0}, size_t{1}, size_t{100}, size_t{50'000}}) {
        Floats values = input_of(context.rank(), count);
        context.all_reduce(values, Op::adasum);
        check_near(values, expected(inputs_of(options.size, count)));
        const std::scoped_lock lock(mutex);
        CHECK(first.try_emplace(count, values).first->second == values);
      }
    }));
  }
}

TEST_CASE("tensors that are pending together have an adaptive sum each") {
  constexpr int tensors = 20;
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& context) {
    std::vector<Floats> values;
    std::vector<dtrain::Work> works;
    for (int i = 0; i < tensors; ++i)
      values.push_back(input_of(context.rank(), 10, i));
    for (int i = 0; i < tensors; ++i) {
      const auto which = static_cast<size_t>((i * 7 + context.rank() * 3) % tensors);
      works.push_back(context.all_reduce_async(values[which], Op::adasum,
                                               {.name = "t" + std::to_string(which)}));
    }
    for (dtrain::Work& work : works)
      work.wait();
    for (int i = 0; i < tensors; ++i)
      check_near(values[static_cast<size_t>(i)], expected(inputs_of(3, 10, i)));
    std::array<Floats, 2> list = {input_of(context.rank(), 5), input_of(context.rank(), 9)};
    context.all_reduce_list(list, Op::adasum);
    check_near(list[0], expected(inputs_of(3, 5)));
    check_near(list[1], expected(inputs_of(3, 9)));
  }));
}

TEST_CASE("scales and compression apply to an adaptive sum") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    Floats values = {context.rank() == 0 ? 8.0F : 0, context.rank() == 1 ? 4.0F : 0};
    context.all_reduce(
        values, Op::adasum,
        {.prescale = 0.5, .postscale = 10, .compression = dtrain::Compression::bfloat16});
    CHECK(values == Floats{40, 20});
  }));
}

TEST_CASE("a rank that has joined adds nothing to an adaptive sum") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    if (context.rank() != 1) {
      Floats values = input_of(context.rank(), 6);
      context.all_reduce(values, Op::adasum, {.name = "g"});
      check_near(values, expected({input_of(0, 6), Floats(6), input_of(2, 6)}));
    }
    context.join();
  }));
}

TEST_CASE("an adaptive sum is of floats, and of all_reduce alone") {
  const Alone alone;
  std::array<int32_t, 2> whole = {};
  std::array<float, 2> values = {};
  dtrain_error error = new_error();
  CHECK(dtrain_all_reduce(alone.context, {nullptr, whole.data(), 2, DTRAIN_INT32}, DTRAIN_ADASUM,
                          nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "there is no adasum of int32; only floats have one"));
  CHECK(dtrain_reduce(alone.context, {nullptr, values.data(), 2, DTRAIN_FLOAT32}, DTRAIN_ADASUM, 0,
                      nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "reduce has no adasum; only all_reduce has one"));
  CHECK(dtrain_all_reduce(alone.context, {nullptr, values.data(), 2, DTRAIN_FLOAT32},
                          static_cast<dtrain_op>(6), nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "reduction 6 is no dtrain_op"));
}

TEST_CASE("ranks that ask for a sum and for an adaptive sum are named") {
  World world({.size = 3, .per_host = 3});
  const auto outcomes = world.run([](dtrain::Context& context) {
    Floats values(4);
    context.all_reduce(values, context.rank() == 1 ? Op::adasum : Op::sum);
  });
  for (const RankOutcome& outcome : outcomes) {
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(contains(outcome.text, "rank 1 asked for adasum, others sum"));
  }
}

}  // namespace
}  // namespace dt

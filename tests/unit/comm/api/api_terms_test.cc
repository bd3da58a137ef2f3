// Scale and shape of operations, in C and C++.
#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a caller of the header before prescale has the same operations") {
  struct OldOptions {
    size_t struct_size;
    const char* name;
    int timeout_ms;
  };
  const Alone alone;
  std::array<float, 2> values = {1, 2};
  const dtrain_buffers buffers = {nullptr, values.data(), 2, DTRAIN_FLOAT32};
  // The byte behind the struct is another variable of the caller.
  struct {
    OldOptions options;
    double other;
  } caller = {{sizeof(OldOptions), "g", 1000}, 77};
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_SUM,
                          reinterpret_cast<const dtrain_op_options*>(&caller.options),
                          nullptr) == DTRAIN_OK);
  CHECK(values == std::array<float, 2>{1, 2});
}

TEST_CASE("a caller of the header before priority has the same operations") {
  const Alone alone;
  std::array<float, 2> values = {1, 2};
  const dtrain_buffers buffers = {nullptr, values.data(), 2, DTRAIN_FLOAT32};
  dtrain_op_options options = {};
  options.struct_size = offsetof(dtrain_op_options, priority);
  options.name = "g";
  options.postscale = 2;
  options.priority = 77;  // another variable of that caller
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_SUM, &options, nullptr) == DTRAIN_OK);
  CHECK(values == std::array<float, 2>{2, 4});
}

TEST_CASE("ranks may give different priorities, and only operations have one") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::vector<float> one(3, 1);
    std::vector<std::vector<float>> several(2, one);
    const int priority = 3 - 7 * context.rank();
    context.all_reduce(one, dtrain::Op::sum, {.name = "a", .priority = priority});
    CHECK(one == std::vector<float>(3, 2));
    context.all_reduce_list(several, dtrain::Op::sum, {.priority = priority});
    CHECK(several.back() == one);
    context.barrier({.priority = priority});
    CHECK_THROWS_AS(context.split(0, 0, {.priority = 1}), dtrain::Error);
  }));
}

TEST_CASE("the scale multiplies each input before the reduction, and each result after it") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const int rank = context.rank();
      // 1, 3 and 5 times 0.5 are 0, 1 and 2.
      const std::vector<int32_t> odd(40'000, 2 * rank + 1);
      std::vector<int32_t> sum = odd;
      context.all_reduce(sum, dtrain::Op::sum, {.prescale = 0.5});
      CHECK(sum == std::vector<int32_t>(odd.size(), 3));
      sum = odd;
      context.all_reduce(sum, dtrain::Op::sum, {.postscale = 0.5});
      CHECK(sum == std::vector<int32_t>(odd.size(), 4));
      std::vector<float> mean(5, static_cast<float>(rank));
      context.all_reduce(mean, dtrain::Op::average, {.prescale = 2, .postscale = 0.25});
      CHECK(mean == std::vector<float>(5, 0.5F));
      // Only a root has a result, and the input of the others stays.
      std::vector<double> rooted(7, rank);
      context.reduce(rooted, 1, dtrain::Op::max, {.prescale = 4, .postscale = 2});
      CHECK(rooted == std::vector<double>(7, rank == 1 ? 16 : rank));
      const std::vector<int64_t> input(6, rank + 1);
      std::vector<int64_t> part(2);
      context.reduce_scatter(input, part, dtrain::Op::sum, {.prescale = 10, .postscale = 0.1});
      CHECK(input == std::vector<int64_t>(6, rank + 1));
      CHECK(part == std::vector<int64_t>(2, 6));
    }));
  }
}

TEST_CASE("a scaled input that is no output stays unchanged") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const std::array<float, 3> input = {1, 2, 3};
    std::array<float, 3> output = {};
    const dtrain_buffers buffers = {input.data(), output.data(), 3, DTRAIN_FLOAT32};
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.prescale = 3;
    CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_SUM, &options, nullptr) == DTRAIN_OK);
    CHECK(input == std::array<float, 3>{1, 2, 3});
    CHECK(output == std::array<float, 3>{6, 12, 18});
  }));
}

TEST_CASE("wrong scales and shapes are named") {
  const Alone alone;
  std::array<float, 6> values = {};
  const dtrain_buffers buffers = {nullptr, values.data(), 6, DTRAIN_FLOAT32};
  const std::array<size_t, 2> shape = {2, 3};
  struct Case {
    double prescale;
    const size_t* shape;
    int dims;
    const char* text;
  };
  const Case cases[] = {
      {std::numeric_limits<double>::quiet_NaN(), nullptr, 0, "the prescale is"},
      {0, nullptr, 1, "dtrain_op_options.dims is 1, but dtrain_op_options.shape is NULL"},
      {0, shape.data(), -1, "dims is -1"},
      {0, shape.data(), 1, "the shape float32[2] does not have the 6 elements"}};
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  for (const Case& c : cases) {
    options.prescale = c.prescale;
    options.shape = c.shape;
    options.dims = c.dims;
    dtrain_error error = new_error();
    CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_SUM, &options, &error) ==
          DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(error.text, c.text), error.text);
  }
  options = {sizeof options, nullptr, 0, 2, 0, nullptr, 0};
  CHECK(dtrain_broadcast(alone.context, buffers, 0, &options, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_store_erase(alone.context, "k", nullptr, &options, nullptr) == DTRAIN_ERROR_INPUT);
  dtrain_context* group = nullptr;
  CHECK(dtrain_split(alone.context, {0, 0}, &group, &options, nullptr) == DTRAIN_ERROR_INPUT);
  options = {sizeof options, nullptr, 0, 0, 0, shape.data(), 2};
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_SUM, &options, nullptr) == DTRAIN_OK);
}

TEST_CASE("ranks compare shapes, all dimensions or all but the first") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 2, .per_host = 2, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const auto rank = static_cast<size_t>(context.rank());
      std::vector<float> values(6);
      const std::vector<size_t> own =
          rank == 0 ? std::vector<size_t>{2, 3} : std::vector<size_t>{6};
      try {
        context.all_reduce(values, dtrain::Op::sum, {.shape = own});
        FAIL("ranks with two shapes have agreed");
      } catch (const dtrain::Error& error) {
        CHECK(error.code() == DTRAIN_ERROR_MISMATCH);
        CHECK(error.rank() == 1);
        CHECK_MESSAGE(contains(error.what(), "rank 1 (host "), error.what());
        CHECK_MESSAGE(contains(error.what(), ") sent float32[6], rank 0 float32[2, 3]"),
                      error.what());
      }
      context.all_reduce(values, dtrain::Op::sum, {.shape = {{2, 3}}});
      const std::vector<float> rows((rank + 1) * 3);
      const dtrain::Work ragged =
          context.all_gather_v(rows, {.shape = std::vector<size_t>{rank + 1, 3}});
      CHECK(ragged.parts<float>().values().size() == 9);
      CHECK_THROWS_AS(context.all_reduce(values, dtrain::Op::sum, {.prescale = 0}), dtrain::Error);
    }));
  }
}

}  // namespace
}  // namespace dt

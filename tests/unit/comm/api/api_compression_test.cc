// Reductions that send 16-bit floats for float32 and float64.
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace dt {
namespace {

using dtrain::Compression;
using dtrain::Op;

/// 1/3 as a float16, and as a bfloat16.
constexpr float third_of_float16 = 0.333251953125F;
constexpr float third_of_bfloat16 = 0.333984375F;

std::vector<World::Options> worlds() {
  return {{.size = 3, .per_host = 3},
          {.size = 3, .per_host = 3, .transport = dtrain::Transport::tcp},
          {.size = 3, .per_host = 2}};
}

TEST_CASE("a compressed all_reduce rounds each input to 16 bits") {
  for (const World::Options& options : worlds()) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& context) {
      // One rank has a third, the others have nothing. So nothing else is rounded.
      for (const size_t count : {size_t{1}, size_t{1000}, size_t{40'000}}) {
        const float own = context.rank() == 1 ? 1.0F / 3 : 0;
        std::vector<float> values(count, own);
        context.all_reduce(values, Op::sum, {.compression = Compression::float16});
        CHECK(values == std::vector<float>(count, third_of_float16));
        values.assign(count, own);
        context.all_reduce(values, Op::max, {.compression = Compression::bfloat16});
        CHECK(values == std::vector<float>(count, third_of_bfloat16));
        std::vector<double> wide(count, static_cast<double>(own));
        context.all_reduce(wide, Op::sum, {.compression = Compression::float16});
        CHECK(wide == std::vector<double>(count, third_of_float16));
      }
    }));
  }
}

TEST_CASE("a compressed reduce, reduce_scatter and average have their results in the own type") {
  for (const World::Options& options : worlds()) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& context) {
      const int rank = context.rank();
      const dtrain::OpOptions compressed{.compression = Compression::float16};
      std::vector<float> rooted(7, static_cast<float>(rank));
      context.reduce(rooted, 1, Op::sum, compressed);
      CHECK(rooted == std::vector<float>(7, rank == 1 ? 3.0F : static_cast<float>(rank)));
      const std::vector<double> input(6, rank + 1);
      std::vector<double> part(2);
      context.reduce_scatter(input, part, Op::average, compressed);
      CHECK(part == std::vector<double>(2, 2));
      CHECK(input == std::vector<double>(6, rank + 1));
      const std::array<size_t, 3> counts = {3, 0, 1};
      const std::vector<float> uneven(4, 1);
      const dtrain::Work work = context.reduce_scatter_v(uneven, counts, Op::sum, compressed);
      CHECK(work.parts<float>().values().size() == counts[static_cast<size_t>(rank)]);
      for (const float value : work.parts<float>().values())
        CHECK(value == 3);
    }));
  }
}

TEST_CASE("scales are in the own type, before and after a compression") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    // 2^20 is no float16; a tenth of it, rounded, is one.
    std::vector<float> values(5, 0x1p20F);
    context.all_reduce(
        values, Op::sum,
        {.prescale = 0x1p-10, .postscale = 0x1p10, .compression = Compression::float16});
    CHECK(values == std::vector<float>(5, 0x1p21F));
    values.assign(5, 0x1p20F);
    context.all_reduce(values, Op::sum, {.compression = Compression::float16});
    CHECK(std::isinf(values[4]));
  }));
}

TEST_CASE("an input that is no output stays unchanged in a compressed call") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const std::array<float, 3> input = {1, 2, 3};
    std::array<float, 3> output = {};
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.compression = DTRAIN_COMPRESSION_BFLOAT16;
    CHECK(dtrain_all_reduce(context.get(), {input.data(), output.data(), 3, DTRAIN_FLOAT32},
                            DTRAIN_SUM, &options, nullptr) == DTRAIN_OK);
    CHECK(input == std::array<float, 3>{1, 2, 3});
    CHECK(output == std::array<float, 3>{2, 4, 6});
  }));
}

TEST_CASE("compressed tensors with names are fused, and a rank that has joined adds nothing") {
  constexpr int tensors = 40;
  for (const World::Options& options : worlds()) {
    World world(options);
    check_all_well(world.run([](dtrain::Context& context) {
      if (context.rank() == 2) {
        context.join();
        return;
      }
      std::vector<std::vector<float>> values(tensors);
      std::vector<dtrain::Work> works;
      for (int i = 0; i < tensors; ++i) {
        const int which = (i * 7 + context.rank() * 11) % tensors;
        auto& own = values[static_cast<size_t>(which)];
        own.assign(static_cast<size_t>(which) + 1, static_cast<float>(which));
        const auto compression = which % 2 == 0 ? Compression::float16 : Compression::none;
        works.push_back(context.all_reduce_async(
            own, Op::sum, {.name = "t" + std::to_string(which), .compression = compression}));
      }
      for (dtrain::Work& work : works)
        work.wait();
      for (int i = 0; i < tensors; ++i)
        CHECK(values[static_cast<size_t>(i)].back() == static_cast<float>(2 * i));
      context.join();
    }));
  }
}

TEST_CASE("wrong compressions are named") {
  const Alone alone;
  std::array<int32_t, 2> values = {};
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.compression = 3;
  dtrain_error error = new_error();
  CHECK(dtrain_all_reduce(alone.context, {nullptr, values.data(), 2, DTRAIN_INT32}, DTRAIN_SUM,
                          &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "dtrain_op_options.compression is 3, no dtrain_compression"));
  options.compression = DTRAIN_COMPRESSION_FLOAT16;
  CHECK(dtrain_all_reduce(alone.context, {nullptr, values.data(), 2, DTRAIN_INT32}, DTRAIN_SUM,
                          &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "int32 has no compression; only float32 and float64 have one"));
  CHECK(dtrain_barrier(alone.context, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "barrier has no compression"));
}

}  // namespace
}  // namespace dt

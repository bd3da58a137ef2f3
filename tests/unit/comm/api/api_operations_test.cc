#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

TEST_CASE("wrong arguments of an operation are named") {
  struct Case {
    dtrain_buffers buffers;
    dtrain_op op;
    const char* text;
  };
  static std::array<int, 4> values = {};
  int* data = values.data();
  const Case cases[] = {
      {{nullptr, data, 4, static_cast<dtrain_type>(0)},
       DTRAIN_SUM,
       "all_reduce: type 0 is no dtrain_type"},
      {{nullptr, data, 4, static_cast<dtrain_type>(17)}, DTRAIN_SUM, "type 17 is no dtrain_type"},
      {{nullptr, data, 4, DTRAIN_INT32},
       static_cast<dtrain_op>(6),
       "all_reduce: reduction 6 is no dtrain_op"},
      {{nullptr, data, 4, DTRAIN_INT32},
       static_cast<dtrain_op>(-1),
       "reduction -1 is no dtrain_op"},
      {{nullptr, nullptr, 4, DTRAIN_INT32}, DTRAIN_SUM, "null"},
      {{data, nullptr, 4, DTRAIN_INT32}, DTRAIN_SUM, "null"},
      {{nullptr, data, 4, DTRAIN_INT32},
       static_cast<dtrain_op>(77),
       "reduction 77 is no dtrain_op"},
      {{nullptr, data, 4, DTRAIN_BOOL}, DTRAIN_AVERAGE, "no average of bool"},
      {{nullptr, data, SIZE_MAX, DTRAIN_INT32}, DTRAIN_SUM, "too large"}};
  const Alone alone;
  for (const Case& c : cases) {
    CAPTURE(c.text);
    dtrain_error error = new_error();
    CHECK(dtrain_all_reduce(alone.context, c.buffers, c.op, nullptr, &error) == DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(error.text, c.text), error.text);
    CHECK(error.rank == -1);
  }
  const dtrain_buffers good = {data, data, 4, DTRAIN_INT32};
  CHECK(dtrain_broadcast(alone.context, good, 1, nullptr, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_send(alone.context, good, 0, nullptr, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_recv(alone.context, good, -1, nullptr, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_all_reduce(alone.context, good, DTRAIN_SUM, nullptr, nullptr) == DTRAIN_OK);
}

TEST_CASE("a rank that is alone has the results of one rank") {
  const Alone alone;
  std::array<double, 3> values = {1, 2, 3};
  std::array<double, 3> out = {};
  const dtrain_buffers buffers = {values.data(), out.data(), 3, DTRAIN_FLOAT64};
  for (const dtrain_op op : {DTRAIN_SUM, DTRAIN_AVERAGE, DTRAIN_MIN, DTRAIN_MAX, DTRAIN_PRODUCT}) {
    out = {};
    CHECK(dtrain_all_reduce(alone.context, buffers, op, nullptr, nullptr) == DTRAIN_OK);
    CHECK(out == values);
  }
  out = {};
  CHECK(dtrain_all_gather(alone.context, buffers, nullptr, nullptr) == DTRAIN_OK);
  CHECK(out == values);
  out = {};
  CHECK(dtrain_reduce_scatter(alone.context, buffers, DTRAIN_SUM, nullptr, nullptr) == DTRAIN_OK);
  CHECK(out == values);
  out = {};
  CHECK(dtrain_broadcast(alone.context, buffers, 0, nullptr, nullptr) == DTRAIN_OK);
  CHECK(out == values);
}

TEST_CASE("the C++ header reduces a single value, and returns it") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& all) {
    const int rank = all.rank();
    CHECK(all.all_reduce(static_cast<float>(rank) + 0.5F) == 4.5F);
    CHECK(all.all_reduce(rank, dtrain::Op::max) == 2);
    CHECK(all.all_reduce(rank == 1, dtrain::Op::max));
  }));
}

TEST_CASE("all_gather without input takes this rank's part of the output") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::array<int32_t, 6> all = {};
    const auto mine = static_cast<size_t>(context.rank()) * 2;
    all[mine] = all[mine + 1] = context.rank() + 1;
    const dtrain_buffers buffers = {nullptr, all.data(), 2, DTRAIN_INT32};
    CHECK(dtrain_all_gather(context.get(), buffers, nullptr, nullptr) == DTRAIN_OK);
    CHECK(all == std::array<int32_t, 6>{1, 1, 2, 2, 3, 3});
  }));
}

TEST_CASE("arrays of sizes that do not fit together are refused by the C++ header") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::vector<int> small(2);
    std::vector<int> large(5);
    CHECK_THROWS_AS(context.all_gather(small, large), dtrain::Error);
    CHECK_THROWS_AS(context.reduce_scatter(large, small), dtrain::Error);
  }));
}

TEST_CASE("reduce and gather bring their result to the root, scatter brings it from there") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 5, .per_host = 5, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      for (int root = 0; root < context.size(); ++root) {
        const bool at_root = context.rank() == root;
        std::vector<int> values = {context.rank(), 10};
        context.reduce(values, root);
        CHECK(values == (at_root ? std::vector{10, 50} : std::vector{context.rank(), 10}));
        const std::vector<int> mine = {context.rank()};
        std::vector<int> all(at_root ? 5 : 0);
        context.gather(mine, all, root);
        if (at_root) CHECK(all == std::vector{0, 1, 2, 3, 4});
        std::vector<int> part(1);
        context.scatter(all, part, root);
        CHECK(part == mine);
      }
    }));
  }
}

TEST_CASE("rooted operations and all_to_all work without the second buffer") {
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& context) {
    dtrain_context* c = context.get();
    const int rank = context.rank();
    std::array<int32_t, 3> all = {0, rank + 1, 0};
    std::array<int32_t, 1> part = {rank + 1};
    const bool at_root = rank == 1;
    const dtrain_buffers gathered = {at_root ? nullptr : part.data(),
                                     at_root ? all.data() : nullptr, 1, DTRAIN_INT32};
    CHECK(dtrain_gather(c, gathered, 1, nullptr, nullptr) == DTRAIN_OK);
    if (at_root) CHECK(all == std::array{1, 2, 3});
    const dtrain_buffers scattered = {at_root ? all.data() : nullptr,
                                      at_root ? nullptr : part.data(), 1, DTRAIN_INT32};
    CHECK(dtrain_scatter(c, scattered, 1, nullptr, nullptr) == DTRAIN_OK);
    CHECK(part[0] == rank + 1);
    const dtrain_buffers reduced = {part.data(), at_root ? part.data() : nullptr, 1, DTRAIN_INT32};
    CHECK(dtrain_reduce(c, reduced, DTRAIN_AVERAGE, 1, nullptr, nullptr) == DTRAIN_OK);
    CHECK(part[0] == (at_root ? 2 : rank + 1));
    all = {10 * rank, 10 * rank + 1, 10 * rank + 2};
    CHECK(dtrain_all_to_all(c, {nullptr, all.data(), 1, DTRAIN_INT32}, nullptr, nullptr) ==
          DTRAIN_OK);
    CHECK(all == std::array{rank, 10 + rank, 20 + rank});
  }));
}

TEST_CASE("the C++ header has each new operation as a call that blocks and as one that does not") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const int rank = context.rank();
    const std::vector<int64_t> input = {rank, rank, rank};
    std::vector<int64_t> output(3);
    context.all_to_all(input, output);
    CHECK(output == std::vector<int64_t>{0, 1, 2});
    context.all_to_all_async(output, output).wait();
    CHECK(output == input);
    context.reduce_async(output, 2, dtrain::Op::max).wait();
    if (rank == 2) CHECK(output == std::vector<int64_t>{2, 2, 2});
    std::vector<int64_t> one(1);
    context.scatter_async(input, one, 0).wait();
    CHECK(one[0] == 0);
    context.gather_async(one, output, 2).wait();

    const std::vector<size_t> counts = {0, 1, 2};
    const dtrain::Work split = context.all_to_all_v(input, counts);
    CHECK(split.parts<int64_t>().values().size() == static_cast<size_t>(3 * rank));
    CHECK_THROWS_AS(split.parts<float>(), dtrain::Error);
    dtrain::Work later = context.all_to_all_v_async(input, counts);
    later.wait();
    CHECK(later.parts<int64_t>().counts()[1] == static_cast<size_t>(rank));
    const std::vector<int64_t> few(static_cast<size_t>(rank), rank);
    const dtrain::Work ragged = context.all_gather_v(few);
    CHECK(ragged.parts<int64_t>().of_rank(2).size() == 2);
    CHECK(ragged.parts<int64_t>().of_rank(2)[1] == 2);
    dtrain::Work last = context.all_gather_v_async(few);
    last.wait();
    CHECK(last.parts<int64_t>().values().size() == 3);
  }));
}

TEST_CASE("the C++ header refuses arrays of the new operations that do not fit together") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    std::vector<int> small(2);
    std::vector<int> large(5);
    CHECK_THROWS_AS(context.all_to_all(large, large), dtrain::Error);
    CHECK_THROWS_AS(context.all_to_all(large, small), dtrain::Error);
    CHECK_THROWS_AS(context.gather(small, large, context.rank()), dtrain::Error);
    CHECK_THROWS_AS(context.scatter(large, small, context.rank()), dtrain::Error);
    CHECK_THROWS_AS(context.all_to_all_v(small, std::vector<size_t>{1, 2}), dtrain::Error);
    CHECK_THROWS_AS(context.all_to_all_v(small, std::vector<size_t>{2}), dtrain::Error);
  }));
}

TEST_CASE("16-bit integers wrap, and bool has or for sum and max, and for product and min") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      std::vector<int16_t> small = {30'000, -1};
      context.all_reduce(small);
      CHECK(small == std::vector<int16_t>{24'464, -3});
      std::vector<uint16_t> large = {60'000, 7};
      context.all_reduce(large, dtrain::Op::average);
      CHECK(large == std::vector<uint16_t>{16'309, 7});
      for (const auto op :
           {dtrain::Op::sum, dtrain::Op::max, dtrain::Op::product, dtrain::Op::min}) {
        std::array<bool, 3> flags = {context.rank() == 1, true, false};
        context.all_reduce(flags, op);
        const bool unites = op == dtrain::Op::sum || op == dtrain::Op::max;
        CHECK(flags == std::array{unites, true, false});
      }
      // A true byte of another language's library may be any but 0.
      std::array<uint8_t, 2> bytes = {static_cast<uint8_t>(1 << context.rank()), 0};
      const dtrain_buffers buffers = {nullptr, bytes.data(), 2, DTRAIN_BOOL};
      CHECK(dtrain_all_reduce(context.get(), buffers, DTRAIN_PRODUCT, nullptr, nullptr) ==
            DTRAIN_OK);
      CHECK(bytes == std::array<uint8_t, 2>{1, 0});
    }));
  }
}

TEST_CASE("numbers of types that do not exist yet are refused") {
  static_assert(DTRAIN_BOOL == 13);
  static_assert(DTRAIN_FLOAT8_E4M3 == 15);
  static_assert(DTRAIN_FLOAT8_E5M2 == 16);
  const Alone alone;
  std::array<char, 8> memory = {};
  for (const int type : {-1, 0, 14, 17, 18, 31, 255, 256 + DTRAIN_FLOAT32})
    CHECK(dtrain_all_reduce(alone.context,
                            {nullptr, memory.data(), 1, static_cast<dtrain_type>(type)}, DTRAIN_SUM,
                            nullptr, nullptr) == DTRAIN_ERROR_INPUT);
}

}  // namespace
}  // namespace dt

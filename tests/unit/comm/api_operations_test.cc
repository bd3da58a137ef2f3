#include "comm/dtrain.h"
#include "tests/unit/comm/world_fixture.h"

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
    int op;
    const char* text;
  };
  static std::array<int, 4> values = {};
  int* data = values.data();
  const Case cases[] = {{{nullptr, data, 4, 0}, DTRAIN_SUM, "dtrain_buffers.type: there is no 0"},
                        {{nullptr, data, 4, 11}, DTRAIN_SUM, "there is no 11"},
                        {{nullptr, data, 4, DTRAIN_INT32}, 5, "there is no reduction 5"},
                        {{nullptr, data, 4, DTRAIN_INT32}, -1, "there is no reduction -1"},
                        {{nullptr, nullptr, 4, DTRAIN_INT32}, DTRAIN_SUM, "null"},
                        {{data, nullptr, 4, DTRAIN_INT32}, DTRAIN_SUM, "null"},
                        {{nullptr, data, 4, DTRAIN_INT32}, DTRAIN_AVERAGE, "average of int32"},
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
  for (const int op : {DTRAIN_SUM, DTRAIN_AVERAGE, DTRAIN_MIN, DTRAIN_MAX, DTRAIN_PRODUCT}) {
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

}  // namespace
}  // namespace dt

// Ranks without further data, in C and C++.
#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Rank r has r + 1 batches, and joins after them.
std::vector<float> train(dtrain::Context& context, const dtrain::OpOptions& options) {
  std::vector<float> means;
  for (int batch = 0; batch <= context.rank(); ++batch) {
    std::vector<float> gradient(9, 12);
    context.all_reduce(gradient, dtrain::Op::average, options);
    CHECK(gradient == std::vector<float>(9, gradient.front()));
    means.push_back(gradient.front());
  }
  return means;
}

TEST_CASE("ranks with fewer batches join, and the others continue") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const auto batches = static_cast<std::ptrdiff_t>(context.rank()) + 1;
      const std::vector<float> over_all = train(context, {.name = "gradient"});
      CHECK(context.join() == 2);
      CHECK(std::equal(over_all.begin(), over_all.end(), std::vector<float>{12, 8, 4}.begin()));
      const std::vector<float> over_active =
          train(context, {.name = "gradient", .average_over = dtrain::AverageOver::active_ranks});
      CHECK(over_active == std::vector<float>(static_cast<size_t>(batches), 12));
      // All can make any call again.
      dtrain::Work join = context.join_async();
      join.wait();
      CHECK(join.parts<std::int32_t>().values().size() == 1);
      std::vector<int> own = {context.rank()};
      std::vector<int> all(3);
      context.all_gather(own, all, {.name = "gathered"});
      CHECK(all == std::vector<int>{0, 1, 2});
    }));
  }
}

TEST_CASE("members of a group join it alone") {
  World world({.size = 3, .per_host = 3});
  check_all_well(world.run([](dtrain::Context& context) {
    auto group = context.split(context.rank() == 1 ? 1 : 0);
    if (context.rank() == 1) {
      CHECK(group->join() == 0);
    } else if (context.rank() == 0) {
      CHECK(group->join() == 1);
    } else {
      std::vector<int32_t> one = {5};
      group->all_reduce(one, dtrain::Op::max, {.name = "last"});
      CHECK(one == std::vector<int32_t>{5});
      CHECK(group->join() == 1);
    }
    std::vector<int32_t> all = {1};
    context.all_reduce(all, dtrain::Op::sum, {.name = "all"});
    CHECK(all == std::vector<int32_t>{3});
  }));
}

TEST_CASE("wrong arguments of a join, and of an average over the active ranks") {
  const Alone alone;
  dtrain_error error = {};
  error.struct_size = sizeof error;
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  int last = -1;
  CHECK(dtrain_join(alone.context, &last, &options, &error) == DTRAIN_OK);
  CHECK(last == 0);
  CHECK(dtrain_join(alone.context, nullptr, nullptr, nullptr) == DTRAIN_OK);
  CHECK(dtrain_join(nullptr, &last, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_join_async(nullptr, nullptr, &error) == nullptr);
  options.name = "j";
  CHECK(dtrain_join(alone.context, &last, &options, &error) == DTRAIN_ERROR_INPUT);
  CHECK(std::string(error.text) ==
        "join \"j\": a join has no name, shape or scale; leave them NULL or 0");
  options.average_over = 2;
  float value = 1;
  const dtrain_buffers buffers = {nullptr, &value, 1, DTRAIN_FLOAT32};
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_AVERAGE, &options, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(std::string(error.text) == "dtrain_op_options.average_over is 2, no dtrain_average_over");
  options.average_over = DTRAIN_ACTIVE_RANKS;
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_AVERAGE, &options, &error) == DTRAIN_OK);
  CHECK(dtrain_all_reduce(alone.context, buffers, DTRAIN_SUM, &options, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(std::string(error.text) ==
        "all_reduce \"j\": only an average can be over the ranks that have not joined");
  CHECK(dtrain_store_set(alone.context, "k", {"v", 1}, &options, &error) == DTRAIN_ERROR_INPUT);
}

}  // namespace
}  // namespace dt

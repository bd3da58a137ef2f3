// Steps that do not wait for slow ranks, in C and C++.
#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

using Tensors = std::vector<std::vector<float>>;

Tensors tensors(float value) {
  return {std::vector<float>(3, value), std::vector<float>(100'000, value)};
}

std::vector<int32_t> participants(const dtrain::Work& work) {
  const dtrain::Parts<int32_t> parts = work.parts<int32_t>();
  return {parts.values().begin(), parts.values().end()};
}

TEST_CASE("two ranks of three go on while the third is outside of every call") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    std::atomic<int> done = 0;
    check_all_well(world.run([&](dtrain::Context& context) {
      const dtrain::OpOptions options{.name = "step"};
      const dtrain::Quorum quorum{.ranks = 2, .carry_late = true};
      const auto step = [&](float value, float expected) {
        Tensors values = tensors(value);
        const dtrain::Work work =
            context.all_reduce_quorum(values, quorum, dtrain::Op::average, options);
        CHECK(values == tensors(expected));
        return participants(work);
      };
      CHECK(step(static_cast<float>(context.rank()), 1) == std::vector<int32_t>{0, 1, 2});
      if (context.rank() == 1) {
        // Its engine thread runs the step of the others meanwhile.
        done.wait(0);
        done.wait(1);
        CHECK(step(100, 3) == std::vector<int32_t>{0, 2});
      } else {
        CHECK(step(static_cast<float>(2 + context.rank()), 3) == std::vector<int32_t>{0, 2});
        ++done;
        done.notify_all();
      }
      context.barrier();
      dtrain_quorum_counts counts = {};
      counts.struct_size = sizeof counts;
      REQUIRE(dtrain_count_quorum(context.get(), &counts, nullptr) == DTRAIN_OK);
      CHECK(counts.steps == 2);
      CHECK(counts.late == (context.rank() == 1 ? 1 : 0));
      CHECK(counts.carried == counts.late);
    }));
  }
}

TEST_CASE("a rank alone is the only participant") {
  const Alone alone;
  float value = 3;
  const dtrain_buffers buffers = {nullptr, &value, 1, DTRAIN_FLOAT32};
  const dtrain_tensor_list list = {sizeof list, &buffers, 1, nullptr, nullptr};
  const dtrain_quorum quorum = {sizeof quorum, 1, 0, DTRAIN_DROP_LATE, 0};
  dtrain_op_options options = {};
  options.struct_size = sizeof options;
  options.name = "step";
  dtrain_error error = new_error();
  dtrain_work* work = nullptr;
  REQUIRE(dtrain_all_reduce_quorum(alone.context, &list, DTRAIN_AVERAGE, &quorum, &work, &options,
                                   &error) == DTRAIN_OK);
  CHECK(value == 3);
  dtrain_result result = {};
  result.struct_size = sizeof result;
  REQUIRE(dtrain_work_result(work, &result, &error) == DTRAIN_OK);
  REQUIRE(result.count == 1);
  CHECK(*static_cast<const int32_t*>(result.data) == 0);
  CHECK(result.type == DTRAIN_INT32);
  dtrain_work_free(work);
}

TEST_CASE("wrong arguments of a quorum") {
  const Alone alone;
  float value = 3;
  const dtrain_buffers buffers = {nullptr, &value, 1, DTRAIN_FLOAT32};
  const dtrain_tensor_list list = {sizeof list, &buffers, 1, nullptr, nullptr};
  const auto refusal = [&](const dtrain_quorum* quorum, const char* name,
                           dtrain_op op = DTRAIN_SUM) {
    dtrain_op_options options = {};
    options.struct_size = sizeof options;
    options.name = name;
    dtrain_error error = new_error();
    CHECK(dtrain_all_reduce_quorum_async(alone.context, &list, op, quorum, &options, &error) ==
          nullptr);
    CHECK(error.code == DTRAIN_ERROR_INPUT);
    return std::string(error.text);
  };
  dtrain_quorum quorum = {sizeof quorum, 1, 0, DTRAIN_DROP_LATE, 0};
  CHECK(refusal(nullptr, "x") == "the dtrain_quorum is NULL");
  CHECK(refusal(&quorum, nullptr) ==
        "the steps of a quorum need a name; set dtrain_op_options.name");
  quorum.ranks = 2;
  CHECK(refusal(&quorum, "x") == "dtrain_quorum.ranks is 2; give 1 to 1, the size of the context");
  quorum = {sizeof quorum, 1, -1, DTRAIN_DROP_LATE, 0};
  CHECK(refusal(&quorum, "x") == "deadline_ms or behind_max of dtrain_quorum is negative");
  quorum = {sizeof quorum, 1, 0, 7, 0};
  CHECK(refusal(&quorum, "x") == "dtrain_quorum.late is 7, which is unknown");
  quorum.late = DTRAIN_CARRY_LATE;
  CHECK(refusal(&quorum, "x", DTRAIN_ADASUM) ==
        "an adasum cannot carry late contributions; use DTRAIN_DROP_LATE");
  dtrain_error error = new_error();
  CHECK(dtrain_count_quorum(alone.context, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_all_reduce_quorum(alone.context, &list, DTRAIN_SUM, &quorum, nullptr, nullptr,
                                 &error) == DTRAIN_ERROR_INPUT);
}

}  // namespace
}  // namespace dt

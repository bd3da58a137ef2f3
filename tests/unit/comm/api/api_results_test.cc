#include "comm/include/dtrain/dtrain.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dt {
namespace {

dtrain_result new_result() {
  dtrain_result result = {};
  result.struct_size = sizeof result;
  return result;
}

/// Rank r sends r + to elements, all equal to 10 * r + to, to rank `to`.
struct Splits {
  Splits(int rank, int size) {
    for (int to = 0; to < size; ++to) {
      counts.push_back(static_cast<size_t>(rank + to));
      input.insert(input.end(), counts.back(), 10 * rank + to);
    }
  }
  dtrain_split_buffers buffers() const {
    return {sizeof(dtrain_split_buffers), input.data(), counts.data(), DTRAIN_INT32};
  }
  std::vector<size_t> counts;
  std::vector<int32_t> input;
};

void check_splits(dtrain_work* work, int rank, int size) {
  dtrain_result result = new_result();
  REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
  CHECK(result.ranks == size);
  CHECK(result.type == DTRAIN_INT32);
  const auto* data = static_cast<const int32_t*>(result.data);
  size_t at = 0;
  for (int from = 0; from < size; ++from) {
    REQUIRE(result.counts[from] == static_cast<size_t>(from + rank));
    for (size_t i = 0; i < result.counts[from]; ++i)
      REQUIRE(data[at++] == 10 * from + rank);
  }
  CHECK(result.count == at);
}

TEST_CASE("all_to_all_v reports what each rank has sent") {
  for (const auto transport : {dtrain::Transport::shm, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const Splits splits(context.rank(), context.size());
      const dtrain_split_buffers buffers = splits.buffers();
      dtrain_work* work = nullptr;
      REQUIRE(dtrain_all_to_all_v(context.get(), &buffers, &work, nullptr, nullptr) == DTRAIN_OK);
      check_splits(work, context.rank(), context.size());
      dtrain_work_free(work);
      work = dtrain_all_to_all_v_async(context.get(), &buffers, nullptr, nullptr);
      REQUIRE(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
      check_splits(work, context.rank(), context.size());
      dtrain_work_free(work);
    }));
  }
}

TEST_CASE("all_gather_v takes a count of its own from each rank, also none") {
  World world({.size = 4, .per_host = 2});
  check_all_well(world.run([](dtrain::Context& context) {
    const std::vector<double> mine(static_cast<size_t>(context.rank()), context.rank() + 0.5);
    const dtrain_buffers buffers = {mine.data(), nullptr, mine.size(), DTRAIN_FLOAT64};
    dtrain_work* work = nullptr;
    REQUIRE(dtrain_all_gather_v(context.get(), buffers, &work, nullptr, nullptr) == DTRAIN_OK);
    dtrain_result result = new_result();
    REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
    const std::vector<double> all(static_cast<const double*>(result.data),
                                  static_cast<const double*>(result.data) + result.count);
    CHECK(all == std::vector<double>{1.5, 2.5, 2.5, 3.5, 3.5, 3.5});
    CHECK(result.counts[0] == 0);
    CHECK(result.counts[3] == 3);
    dtrain_work_free(work);
    work = dtrain_all_gather_v_async(context.get(), buffers, nullptr, nullptr);
    CHECK(dtrain_work_wait(work, -1, nullptr) == DTRAIN_OK);
    dtrain_work_free(work);
  }));
}

TEST_CASE("a result outlives its context, until the work is freed") {
  dtrain_context* context = dtrain_init(nullptr, nullptr);
  const int32_t value = 7;
  dtrain_work* work = nullptr;
  REQUIRE(dtrain_all_gather_v(context, {&value, nullptr, 1, DTRAIN_INT32}, &work, nullptr,
                              nullptr) == DTRAIN_OK);
  dtrain_finalize(context);
  dtrain_result result = new_result();
  REQUIRE(dtrain_work_result(work, &result, nullptr) == DTRAIN_OK);
  CHECK(*static_cast<const int32_t*>(result.data) == 7);
  dtrain_work_free(work);
}

TEST_CASE("calls with counts name what is wrong, and leave no work") {
  const Alone alone;
  const int32_t value = 7;
  const size_t count = 1;
  const dtrain_split_buffers good = {sizeof good, &value, &count, DTRAIN_INT32};
  struct Case {
    dtrain_split_buffers buffers;
    const char* text;
  };
  const Case cases[] = {
      {{0, &value, &count, DTRAIN_INT32}, "dtrain_split_buffers.struct_size is 0"},
      {{sizeof good, &value, nullptr, DTRAIN_INT32}, "dtrain_split_buffers.counts is NULL"},
      {{sizeof good, nullptr, &count, DTRAIN_INT32}, "the input is null"},
      {{sizeof good, &value, &count, static_cast<dtrain_type>(99)}, "type 99 is no dtrain_type"}};
  for (const Case& c : cases) {
    dtrain_error error = new_error();
    auto* work = reinterpret_cast<dtrain_work*>(&error);
    CHECK(dtrain_all_to_all_v(alone.context, &c.buffers, &work, nullptr, &error) ==
          DTRAIN_ERROR_INPUT);
    CHECK_MESSAGE(contains(error.text, c.text), error.text);
    CHECK(work == nullptr);
  }
  dtrain_error error = new_error();
  CHECK(dtrain_all_to_all_v(alone.context, nullptr, nullptr, nullptr, &error) ==
        DTRAIN_ERROR_INPUT);
  CHECK(dtrain_all_to_all_v(alone.context, &good, nullptr, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "which gets the result, is NULL"));
  CHECK(dtrain_all_to_all_v_async(nullptr, &good, nullptr, &error) == nullptr);
  int32_t output = 0;
  CHECK(dtrain_all_gather_v_async(alone.context, {&value, &output, 1, DTRAIN_INT32}, nullptr,
                                  &error) == nullptr);
  CHECK(contains(error.text, "output must be NULL"));
}

TEST_CASE("dtrain_work_result refuses works without result, and small structs get less") {
  const Alone alone;
  dtrain_error error = new_error();
  dtrain_result result = new_result();
  CHECK(dtrain_work_result(nullptr, &result, &error) == DTRAIN_ERROR_INPUT);
  dtrain_work* barrier = dtrain_barrier_async(alone.context, nullptr, nullptr);
  CHECK(dtrain_work_result(barrier, &result, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "has no result of its own"));
  dtrain_work_free(barrier);

  const int32_t value = 7;
  dtrain_work* work = nullptr;
  REQUIRE(dtrain_all_gather_v(alone.context, {&value, nullptr, 1, DTRAIN_INT32}, &work, nullptr,
                              nullptr) == DTRAIN_OK);
  CHECK(dtrain_work_result(work, nullptr, &error) == DTRAIN_ERROR_INPUT);
  result.struct_size = 0;
  CHECK(dtrain_work_result(work, &result, &error) == DTRAIN_ERROR_INPUT);
  CHECK(contains(error.text, "dtrain_result.struct_size is 0"));
  result.struct_size = offsetof(dtrain_result, counts);
  result.ranks = -1;
  CHECK(dtrain_work_result(work, &result, &error) == DTRAIN_OK);
  CHECK(result.count == 1);
  CHECK(result.counts == nullptr);
  CHECK(result.ranks == -1);
  CHECK(result.struct_size == offsetof(dtrain_result, counts));
  dtrain_work_free(work);
}

TEST_CASE("the result of a work that waits or has failed is refused") {
  World world({.size = 2, .per_host = 2});
  const auto outcomes = world.run([](dtrain::Context& context) {
    const int32_t value = 7;
    const bool odd = context.rank() == 1;
    const dtrain_buffers buffers = {&value, nullptr, 1, odd ? DTRAIN_UINT32 : DTRAIN_INT32};
    dtrain_result result = new_result();
    dtrain_error error = new_error();
    if (!odd) {
      dtrain_work* early = dtrain_all_gather_v_async(context.get(), buffers, nullptr, nullptr);
      CHECK(dtrain_work_result(early, &result, &error) == DTRAIN_ERROR_INPUT);
      CHECK(contains(error.text, "not done yet"));
      const std::array<int, 1> token = {1};
      context.send(token, 1);
      CHECK(dtrain_work_wait(early, -1, &error) == DTRAIN_ERROR_MISMATCH);
      CHECK(contains(error.text, "rank 1 sent uint32, rank 0 int32"));
      CHECK(dtrain_work_result(early, &result, &error) == DTRAIN_ERROR_INPUT);
      CHECK(contains(error.text, "the operation failed"));
      dtrain_work_free(early);
      return;
    }
    std::array<int, 1> token = {};
    context.recv(token, 0);
    dtrain_work* work = nullptr;
    CHECK(dtrain_all_gather_v(context.get(), buffers, &work, nullptr, &error) ==
          DTRAIN_ERROR_MISMATCH);
    CHECK(work == nullptr);
  });
  check_all_well(outcomes);
}

TEST_CASE("reduce_scatter with a count for each part") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 3, .per_host = 3, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const auto rank = static_cast<size_t>(context.rank());
      for (const size_t scale : {size_t{1}, size_t{30'000}}) {
        const std::vector<size_t> counts = {2 * scale, 0, 3 * scale};
        std::vector<float> input(5 * scale, static_cast<float>(rank + 1));
        input.back() = 7;
        const dtrain::Work sum = context.reduce_scatter_v(input, counts);
        std::vector<float> wanted(counts[rank], 6);
        if (rank == 2) wanted.back() = 21;
        CHECK(std::ranges::equal(sum.parts<float>().values(), wanted));
        dtrain::Work mean = context.reduce_scatter_v_async(
            input, counts, dtrain::Op::average, {.name = "mean", .prescale = 2, .postscale = 0.5});
        mean.wait();
        for (float& value : wanted)
          value /= 3;
        CHECK(std::ranges::equal(mean.parts<float>().values(), wanted));
      }
      const std::vector<float> small(2);
      CHECK_THROWS_AS(context.reduce_scatter_v(small, std::vector<size_t>{2}), dtrain::Error);
    }));
  }
}

TEST_CASE("reduce_scatter with counts that differ between the ranks is a mismatch") {
  World world({.size = 2, .per_host = 2});
  for (const RankOutcome& outcome : world.run([](dtrain::Context& context) {
         std::vector<size_t> counts = {1, 2};
         if (context.rank() == 1) counts = {2, 1};
         std::vector<float> input(3);
         context.reduce_scatter_v(input, counts);
       })) {
    CHECK(outcome.code == DTRAIN_ERROR_MISMATCH);
    CHECK(outcome.text.find("gave other counts of the parts") != std::string::npos);
  }
}

}  // namespace
}  // namespace dt

#include "comm/include/dtrain/dtrain_work.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace dt {
namespace {

TEST_CASE("a thread completes all works of a rank in the order in which they end") {
  World world({.size = 2, .per_host = 1});
  check_all_well(world.run([](dtrain::Context& context) {
    constexpr size_t number = 20;
    std::vector<std::array<int, 3>> values(number, {1, 2, 3});
    std::vector<dtrain::Work> works;
    for (auto& one : values)
      works.push_back(context.all_reduce_async(one));
    for (size_t left = number; left > 0; --left) {
      const size_t index = dtrain::wait_any(works);
      works[index].wait();
      CHECK(values[index] == std::array{2, 4, 6});
      // A Work that is moved from is left out from now on.
      const dtrain::Work done = std::move(works[index]);
    }
    CHECK_THROWS_AS(dtrain::wait_any(works), dtrain::Error);
  }));
}

TEST_CASE("the first that is done ends the wait, also a failed one and one of a group") {
  World world({.size = 2, .per_host = 2});
  std::atomic<bool> waited = false;
  check_all_well(world.run([&](dtrain::Context& context) {
    std::optional<dtrain::Context> group = context.split(context.rank());
    REQUIRE(group);
    std::vector<int> values(4);
    std::vector<int> own(4);
    if (context.rank() == 1) {
      while (!waited)
        std::this_thread::yield();
      context.all_reduce(values);
      return;
    }
    std::vector<dtrain::Work> works;
    works.push_back(context.all_reduce_async(values));
    CHECK(!dtrain::wait_any_for(works, std::chrono::milliseconds(0)));
    CHECK(!dtrain::wait_any_for(works, std::chrono::milliseconds(5)));
    works.push_back(group->all_reduce_async(own));
    works.push_back(context.broadcast_async(values, 7));
    // Whichever of the two ends first; the failed one throws in its own wait() alone.
    CHECK(dtrain::wait_any(works) > 0);
    works[1].wait();
    CHECK_THROWS_AS(works[2].wait(), dtrain::Error);
    CHECK(dtrain::wait_any(works) == 1);
    waited = true;
    works[0].wait();
    CHECK(dtrain::wait_any(works) == 0);
  }));
}

TEST_CASE("wrong arguments of a wait for any are named") {
  const Alone alone;
  const Alone other;
  size_t index = 5;
  dtrain_error error = new_error();
  CHECK(dtrain_wait_any(nullptr, 1, -1, &index, &error) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_wait_any(nullptr, 0, -1, &index, &error) == DTRAIN_ERROR_INPUT);
  CHECK_MESSAGE(contains(error.text, "there is no work among the 0 of the array"), error.text);
  std::array<dtrain_work*, 3> works = {};
  CHECK(dtrain_wait_any(works.data(), 3, 0, &index, &error) == DTRAIN_ERROR_INPUT);
  works[1] = dtrain_barrier_async(alone.context, nullptr, nullptr);
  CHECK(dtrain_wait_any(works.data(), 3, -1, nullptr, &error) == DTRAIN_ERROR_INPUT);
  CHECK(index == 5);
  CHECK(dtrain_wait_any(works.data(), 3, -1, &index, &error) == DTRAIN_OK);
  CHECK(index == 1);
  works[2] = dtrain_barrier_async(other.context, nullptr, nullptr);
  CHECK(dtrain_wait_any(works.data(), 3, -1, &index, &error) == DTRAIN_ERROR_INPUT);
  CHECK_MESSAGE(contains(error.text, "two jobs"), error.text);
  dtrain_work_free(works[1]);
  dtrain_work_free(works[2]);
}

TEST_CASE("a work has the times of its submission, its start and its end") {
  for (const auto transport : {dtrain::Transport::automatic, dtrain::Transport::tcp}) {
    World world({.size = 2, .per_host = 2, .transport = transport});
    check_all_well(world.run([](dtrain::Context& context) {
      const auto before = std::chrono::steady_clock::now();
      std::vector<float> values(100);
      std::vector<dtrain::Work> works;
      works.push_back(context.all_reduce_async(values));
      works.push_back(context.barrier_async());
      std::vector<float> message(3);
      works.push_back(context.rank() == 0 ? context.send_async(message, 1)
                                          : context.recv_async(message, 0));
      // Those with a name start when they are sent, alone or with others.
      std::vector<float> first(100);
      std::vector<float> second(100);
      works.push_back(context.all_reduce_async(first, dtrain::Op::sum, {.name = "first"}));
      works.push_back(context.all_reduce_async(second, dtrain::Op::sum, {.name = "second"}));
      for (dtrain::Work& work : works)
        work.wait();
      const auto after = std::chrono::steady_clock::now();
      for (const dtrain::Work& work : works) {
        const dtrain::WorkTimes times = work.times();
        REQUIRE(times.started);
        REQUIRE(times.ended);
        CHECK(before <= times.submitted);
        CHECK(times.submitted <= *times.started);
        CHECK(*times.started <= *times.ended);
        CHECK(*times.ended <= after);
      }
      // The second collective starts when the first one is done.
      CHECK(*works[0].times().ended <= *works[1].times().started);
    }));
  }
}

TEST_CASE("a work that fails early has ended, and never started") {
  const Alone alone;
  dtrain_work* work = dtrain_broadcast_async(alone.context, {nullptr, nullptr, 1, DTRAIN_INT32}, 0,
                                             nullptr, nullptr);
  dtrain_times times = {};
  CHECK(dtrain_work_times(work, &times, nullptr) == DTRAIN_ERROR_INPUT);
  times.struct_size = sizeof times;
  CHECK(dtrain_work_times(work, nullptr, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_work_times(nullptr, &times, nullptr) == DTRAIN_ERROR_INPUT);
  CHECK(dtrain_work_times(work, &times, nullptr) == DTRAIN_OK);
  CHECK(times.submitted_ns > 0);
  CHECK(times.started_ns == 0);
  CHECK(times.ended_ns >= times.submitted_ns);
  // A caller of an older header gets the fields that it knows.
  dtrain_times old = {};
  old.struct_size = offsetof(dtrain_times, started_ns);
  old.ended_ns = 9;
  CHECK(dtrain_work_times(work, &old, nullptr) == DTRAIN_OK);
  CHECK(old.submitted_ns == times.submitted_ns);
  CHECK(old.ended_ns == 9);
  dtrain_work_free(work);
}

}  // namespace
}  // namespace dt

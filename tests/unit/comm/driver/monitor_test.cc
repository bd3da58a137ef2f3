#include "comm/driver/monitor.h"

#include "comm/driver/driver.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("several threads of a rank use one context at a time") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    constexpr int messages = 200;
    const int other = 1 - context.rank();
    std::thread receiver([&] {
      for (int i = 0; i < messages; ++i) {
        std::vector<int> got(1);
        context.recv(got, other);
        CHECK(got[0] == i);
      }
    });
    std::thread reducer([&] {
      for (int i = 0; i < messages; ++i) {
        std::vector<int> values(10, i);
        context.all_reduce(values);
        CHECK(values[0] == 2 * i);
      }
    });
    for (int i = 0; i < messages; ++i) {
      const std::vector<int> one = {i};
      context.send(one, other);
    }
    receiver.join();
    reducer.join();
  }));
}

TEST_CASE("waiting with a time limit of zero does not wake the thread that drives") {
  World world({.size = 2, .per_host = 2});
  std::latch polled(1);
  check_all_well(world.run([&](Context& context) {
    std::vector<int> values = {1};
    if (context.rank() == 1) {
      polled.wait();
      context.send(values, 0);
      return;
    }
    dtrain::Work work = context.recv_async(values, 1);
    rusage before = {};
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < 2000; ++i)
      CHECK(!work.wait_for(std::chrono::milliseconds(0)));
    rusage after = {};
    getrusage(RUSAGE_SELF, &after);
    polled.count_down();
    CHECK(after.ru_nvcsw - before.ru_nvcsw < 500);
    work.wait();
  }));
}

/// How often this thread has slept.
long sleeps() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST_CASE("threads that wait for what does not come let each other sleep") {
  World world({.size = 2, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    if (context.rank() == 0) {
      const auto wait_in_vain = [&](int value) {
        std::vector<int> got = {value};
        const long before = sleeps();
        const dtrain::OpOptions options = {.timeout = std::chrono::milliseconds(500)};
        CHECK_THROWS_AS(context.recv(got, 1, options), dtrain::Error);
        CHECK(sleeps() - before < 200);
      };
      std::thread one(wait_in_vain, 1);
      std::thread other(wait_in_vain, 2);
      one.join();
      other.join();
    }
    context.barrier();
  }));
}

}  // namespace
}  // namespace dt

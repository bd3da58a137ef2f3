#include "comm/driver/driver.h"
#include "tests/unit/comm/world_fixture.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("a driver that reads from one rank also gets what others send") {
  World world({.size = 3, .per_host = 1});
  check_all_well(world.run([](Context& context) {
    std::vector<int> value = {context.rank()};
    context.barrier();
    if (context.rank() == 2) return context.send(value, 0);
    if (context.rank() == 1) {
      // Rank 0 waits for this rank until it has received from rank 2.
      std::vector<int> got = {0};
      context.recv(got, 0);
      CHECK(got[0] == 2);
      return context.send(value, 0);
    }
    std::vector<int> of_1 = {0};
    std::vector<int> of_2 = {0};
    dtrain::Work second = context.recv_async(of_2, 2);
    std::thread forwarder([&] {
      second.wait();
      context.send(of_2, 1);
    });
    context.recv(of_1, 1);
    forwarder.join();
    CHECK(of_1[0] == 1);
  }));
}

TEST_CASE("ranks that share their cores get data over links") {
  // Each host has more ranks than this machine has cores, so all waits yield.
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 1;
  World world({.size = ranks + 1, .per_host = ranks});
  check_all_well(world.run([&](Context& context) {
    for (int round = 0; round < 50; ++round) {
      std::vector<int> values = {context.rank()};
      context.all_reduce(values);
      CHECK(values[0] == ranks * (ranks + 1) / 2);
    }
  }));
}

}  // namespace
}  // namespace dt

#include "comm/driver/submissions.h"

#include "comm/driver/driver.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("many threads start, wait and call at the same time") {
  for (const int size : {1, 2}) {
    World world({.size = size, .per_host = 2});
    check_all_well(world.run([](Context& context) {
      const auto lone_calls = [&] {
        for (int i = 0; i < 300; ++i) {
          std::vector<int> value = {i};
          dtrain::Work work = context.all_reduce_async(value);
          context.barrier();
          work.wait();
          CHECK(value[0] == i);
        }
      };
      const auto messages = [&] {
        const int other = 1 - context.rank();
        for (int i = 0; i < 300; ++i) {
          const std::vector<int> sent = {1};
          std::vector<int> got = {0};
          dtrain::Work sending = context.send_async(sent, other);
          dtrain::Work receiving = context.recv_async(got, other);
          sending.wait();
          receiving.wait();
          CHECK(got[0] == 1);
        }
      };
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        if (context.size() == 1) threads.emplace_back(lone_calls);
        if (context.size() == 2) threads.emplace_back(messages);
      }
      for (std::thread& thread : threads)
        thread.join();
    }));
  }
}

}  // namespace
}  // namespace dt

#include "comm/driver/background_thread.h"

#include "comm/driver/driver.h"
#include "tests/unit/comm/api/world_fixture.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

namespace dt {
namespace {

using dtrain::Context;

TEST_CASE("the background thread moves works that nobody waits for") {
  World world({.size = 3, .per_host = 2});
  check_all_well(world.run([](Context& context) {
    std::vector<float> values(200'000, 1.0F);
    const dtrain::Work work = context.all_reduce_async(values);
    const Time end = Clock::now() + seconds(20);
    while (!work.done() && Clock::now() < end)
      std::this_thread::yield();
    CHECK(work.done());
    CHECK(values.front() == 3.0F);
  }));
}

}  // namespace
}  // namespace dt

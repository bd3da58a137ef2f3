#include "base/format.h"
#include "base/io/open_files.h"
#include "tests/sim/seeds.h"
#include "tests/sim/sync/sync_plan.h"
#include "tests/sim/sync/sync_scene.h"
#include "tests/sim/sync/sync_world.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dt {
namespace {

std::string name_of(uint64_t seed) {
  return format("seed {} (to repeat it: DTRAIN_SIM_SEED={} sync_sim_test)", seed, seed);
}

TEST_CASE("a sync keeps its promises under every failure of its hosts") {
  const SimulatedFiles files;
  const auto [first, seeds] = chosen_seeds();
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    Random random(seed);
    const size_t size = 1 + random.below(12);
    const auto homes = static_cast<Homes>(random.below(3));
    SyncPlan plan = random_plan(random, size, homes, {});
    disturb(random, plan);
    SyncWorld world(seed, plan, files.choose(random, 50, 5));
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), name_of(seed), ": ", world.complaint());
  }
}

TEST_CASE("of a thousand hosts a fifth fails during the transfer, and the others get the tree") {
  constexpr size_t size = 1000;
  REQUIRE(ensure_open_files(2 * size + 100, "1,000 hosts"));
  const SimulatedFiles files;
  const uint64_t seeds = std::max<uint64_t>(1, chosen_seeds().count / 1000);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Homes homes : {Homes::own, Homes::some_share, Homes::one}) {
      Random random(seed);
      const SyncPlan plan = random_plan(
          random, size, homes, {.timed = 0, .messages_max = homes == Homes::one ? 5U : 12U});
      SyncWorld world(seed, plan, files.choose(random, 80, 30));
      world.run();
      CHECK_MESSAGE(world.complaint().empty(), seed, ": ", world.complaint());
      CHECK(world.ready() + world.failed() == size);
      CHECK(world.failed() > size / 20);
      CHECK(world.ready() > size / 2);
    }
  }
}

/// Hosts with homes of their own, which all fall silent when a large file comes.
SyncPlan silent_plan(Random& random, size_t size) {
  SyncPlan plan = random_plan(random, size, Homes::own, {.fails = 0, .late = 0});
  plan.sets_up = false;
  for (SyncHostPlan& host : plan.hosts) {
    host.original = false;
    host.fate = {.kind = SyncFate::Kind::silent, .message = 6};
  }
  return plan;
}

TEST_CASE("few hosts get files at once, and another one when one of them fails") {
  const SimulatedFiles files;
  Random random(1);
  SyncPlan plan = silent_plan(random, 6);
  plan.receivers_max = 2;
  SyncWorld world(1, plan, files.choose(random, 100, 100));
  world.run();
  CHECK_MESSAGE(world.complaint().empty(), world.complaint());
  REQUIRE(world.failed_after().size() == 6);
  CHECK(world.failed_after()[1] < seconds(40));
  CHECK(world.failed_after()[2] > seconds(59));
  CHECK(world.failed_after()[4] > seconds(89));
  CHECK(world.failed_after()[5] < seconds(100));
}

TEST_CASE("a thousand hosts take little memory, whether they read or not") {
  constexpr size_t size = 1000;
  REQUIRE(ensure_open_files(2 * size + 100, "1,000 hosts"));
  const SimulatedFiles files;
  for (const bool is_silent : {false, true}) {
    Random random(1);
    SyncPlan plan = silent_plan(random, size);
    for (SyncHostPlan& host : plan.hosts)
      if (!is_silent) host.fate = {};
    SyncWorld world(1, std::move(plan), files.choose(random, 100, 100));
    world.measure_memory();
    world.run();
    CHECK_MESSAGE(world.complaint().empty(), world.complaint());
    CHECK((is_silent ? world.failed() : world.ready()) == size);
    CHECK(world.memory_peak() < size_t{32} << 20);
  }
}

TEST_CASE("a thousand hosts with one home take little memory for a long list of files") {
  constexpr size_t size = 1000;
  REQUIRE(ensure_open_files(2 * size + 100, "1,000 hosts"));
  const SimulatedFiles files;
  Random random(1);
  SyncPlan plan = random_plan(random, size, Homes::one, {.fails = 0, .late = 0});
  plan.sets_up = false;
  for (SyncHostPlan& host : plan.hosts) {
    host.original = false;
    if (host.id > 1) host.fate = {.kind = SyncFate::Kind::silent, .message = 4};
  }
  SyncedTree tree = files.choose(random, 100, 0);
  tree.encoded.resize(size_t{1} << 20);  // hosts only compare it
  SyncWorld world(1, std::move(plan), tree);
  world.measure_memory();
  world.run();
  CHECK_MESSAGE(world.complaint().empty(), world.complaint());
  CHECK(world.failed() == size - 1);
  CHECK(world.memory_peak() < size_t{32} << 20);
}

}  // namespace
}  // namespace dt

#pragma once

#include "base/clock.h"
#include "tests/sim/random.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// How a simulated host fails while it gets a tree.
struct SyncFate {
  enum class Kind : uint8_t {
    none,
    closes,    ///< its connection ends
    silent,    ///< it neither reads nor writes
    full,      ///< it answers that its disk is full
    confused,  ///< it answers with bytes that are no answer
  };
  Kind kind = Kind::none;
  size_t message = 0;               ///< at this one of the messages that it gets
  std::optional<Duration> at = {};  ///< instead, so long after it was added
  bool operator==(const SyncFate&) const = default;
};

/// A host of a simulation, as the seed has it.
struct SyncHostPlan {
  uint32_t id = 0;
  size_t tree = 0;   ///< the number of its tree's folder; hosts with the same number share it
  size_t store = 0;  ///< the same of its store
  bool original = false;
  Duration added = {};    ///< so long after the first
  Duration latency = {};  ///< at most this before each read
  size_t read_bytes = 0;  ///< at most these at a time
  Duration builds = {};
  Duration sets_up = {};
  bool loses_object = false;  ///< when it builds for the first time
  SyncFate fate = {};
};

/// Everything that happens in a simulation.
struct SyncPlan {
  std::vector<SyncHostPlan> hosts;  ///< in the order in which they are added
  size_t trees = 0;
  size_t stores = 0;
  bool has_target = false;  ///< trees lie elsewhere than stores
  bool sets_up = false;
  size_t receivers_max = 64;
  std::optional<Duration> interrupted;  ///< the job ends so long after its start
  std::vector<Duration> pauses;         ///< when the launcher does not read for some seconds
};

/// The chances of a host.
struct SyncChances {
  size_t fails = 20;  ///< in percent, as all of these
  size_t timed = 20;  ///< of failures: at a time instead of at a message
  size_t late = 10;
  size_t messages_max = 20;  ///< that a host gets before it fails
};

inline SyncHostPlan random_host(Random& random, uint32_t id, const SyncChances& chances) {
  SyncHostPlan host = {.id = id,
                       .latency = random.percent(20) ? milliseconds(500) : milliseconds(2),
                       .read_bytes = random.percent(20) ? size_t{32} << 10 : size_t{1} << 20,
                       .builds = random.percent(10) ? seconds(40) : milliseconds(20),
                       .sets_up = random.percent(10) ? seconds(40) : milliseconds(20),
                       .loses_object = random.percent(5)};
  if (random.percent(chances.late)) host.added = milliseconds(1) + random.up_to(seconds(90));
  if (!random.percent(chances.fails)) return host;
  host.fate = {.kind = static_cast<SyncFate::Kind>(random.between(1, 4)),
               .message = 1 + random.below(chances.messages_max)};
  if (random.percent(chances.timed)) host.fate.at = random.up_to(seconds(20));
  return host;
}

/// Which hosts share folders.
enum class Homes : uint8_t { own, some_share, one };

/// Returns hosts that get a tree, with failures and delays by these chances.
inline SyncPlan random_plan(Random& random, size_t size, Homes homes, const SyncChances& chances) {
  SyncPlan plan = {};
  plan.stores = homes == Homes::own ? size : homes == Homes::one ? 1 : 1 + random.below(size);
  // Hosts may share a target and no store, or the other way.
  plan.has_target = random.percent(40);
  plan.trees = plan.has_target && homes == Homes::some_share ? 1 + random.below(size) : plan.stores;
  for (uint32_t id = 1; id <= size; ++id) {
    SyncHostPlan host = random_host(random, id, chances);
    host.store = homes == Homes::some_share ? random.below(plan.stores) : (id - 1) % plan.stores;
    host.tree =
        plan.has_target && homes == Homes::some_share ? random.below(plan.trees) : host.store;
    plan.hosts.push_back(host);
  }
  plan.sets_up = random.percent(40);
  // The machine of the launcher is set up, too, and uses the original.
  if (plan.sets_up && random.percent(50)) plan.hosts[random.below(size)].original = true;
  std::ranges::stable_sort(plan.hosts, {}, &SyncHostPlan::added);
  return plan;
}

/// Ends the job early, by a chance, serves few hosts at once, and does not read for a while.
inline void disturb(Random& random, SyncPlan& plan) {
  if (random.percent(30)) plan.receivers_max = 1 + random.below(3);
  if (random.percent(15)) plan.interrupted = random.up_to(seconds(100));
  for (size_t left = random.below(3); left > 0; --left)
    plan.pauses.push_back(random.up_to(seconds(60)));
}

}  // namespace dt

#include "launcher/plan/host_shares.h"

#include <doctest/doctest.h>

#include <numeric>
#include <random>

namespace dt {
namespace {

using Shares = std::vector<int>;

TEST_CASE("tasks go to free slots first, then to every host in proportion to its slots") {
  struct Case {
    const char* what;
    std::vector<HostCapacity> capacities;
    int count;
    MapBy by;
    Shares shares;
  };
  const Case cases[] = {
      {"one host after the other", {{2, 9, 0}, {2, 9, 0}}, 3, MapBy::slot, {2, 1}},
      {"one to each in turn", {{3, 9, 0}, {3, 9, 0}}, 3, MapBy::node, {2, 1}},
      {"used slots are not free", {{2, 9, 2}, {3, 9, 1}}, 2, MapBy::slot, {0, 2}},
      {"more than slots", {{1, 9, 0}, {2, 9, 0}}, 6, MapBy::slot, {2, 4}},
      {"the largest remainder", {{1, 9, 0}, {2, 9, 0}}, 7, MapBy::slot, {2, 5}},
      {"up to a limit", {{2, 2, 0}, {2, 9, 0}}, 7, MapBy::slot, {2, 5}},
      {"the tasks that a host has count", {{1, 9, 1}, {1, 9, 0}}, 3, MapBy::slot, {1, 2}},
      {"a host that has more gets none",
       {{1, 9, 5}, {1, 9, 0}, {1, 9, 0}},
       4,
       MapBy::slot,
       {0, 2, 2}},
      {"both bounds at once", {{1, 9, 5}, {1, 2, 0}, {1, 9, 0}}, 6, MapBy::slot, {0, 2, 4}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(host_shares(c.capacities, c.count, c.by) == c.shares);
  }
}

TEST_CASE("shares add up to all tasks, within the limit of each host") {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp,bugprone-random-generator-seed): reproducible
  const auto below = [&random](int bound) { return static_cast<int>(random() % unsigned(bound)); };
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    std::vector<HostCapacity> capacities;
    int allowed = 0;
    for (int i = 1 + below(6); i > 0; --i) {
      const int slots = 1 + below(5);
      const int limit = slots + below(9);
      const int used = below(limit + 1);
      capacities.push_back({.slots = slots, .limit = limit, .used = used});
      allowed += limit - used;
    }
    const int count = below(allowed + 1);
    const Shares shares =
        host_shares(capacities, count, round % 2 == 0 ? MapBy::slot : MapBy::node);
    REQUIRE(shares.size() == capacities.size());
    CHECK(std::accumulate(shares.begin(), shares.end(), 0) == count);
    for (size_t i = 0; i < capacities.size(); ++i) {
      CHECK(shares[i] >= 0);
      CHECK(shares[i] + capacities[i].used <= capacities[i].limit);
    }
  }
}

}  // namespace
}  // namespace dt

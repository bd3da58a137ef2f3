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
    std::vector<TaskRoom> rooms;
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
      {"what a host has counts", {{1, 9, 1}, {1, 9, 0}}, 3, MapBy::slot, {1, 2}},
      {"who has more gets none", {{1, 9, 5}, {1, 9, 0}, {1, 9, 0}}, 4, MapBy::slot, {0, 2, 2}},
      {"both bounds at once", {{1, 9, 5}, {1, 2, 0}, {1, 9, 0}}, 6, MapBy::slot, {0, 2, 4}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.what);
    CHECK(share_out(c.rooms, c.count, c.by) == c.shares);
  }
}

TEST_CASE("any shares are all tasks, none below what a host has nor above its limit") {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp,bugprone-random-generator-seed): reproducible
  const auto below = [&random](int bound) { return static_cast<int>(random() % unsigned(bound)); };
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    std::vector<TaskRoom> rooms;
    int places = 0;
    for (int i = 1 + below(6); i > 0; --i) {
      const int slots = 1 + below(5);
      const int limit = slots + below(9);
      const int used = below(limit + 1);
      rooms.push_back({.slots = slots, .limit = limit, .used = used});
      places += limit - used;
    }
    const int count = below(places + 1);
    const Shares shares = share_out(rooms, count, round % 2 == 0 ? MapBy::slot : MapBy::node);
    REQUIRE(shares.size() == rooms.size());
    CHECK(std::accumulate(shares.begin(), shares.end(), 0) == count);
    for (size_t i = 0; i < rooms.size(); ++i) {
      CHECK(shares[i] >= 0);
      CHECK(shares[i] + rooms[i].used <= rooms[i].limit);
    }
  }
}

}  // namespace
}  // namespace dt

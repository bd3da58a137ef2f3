#include "comm/schedule/host_map.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

std::vector<int> ranks(const HostMap& map, int host) {
  const std::span<const int> found = map.ranks_of(host);
  return {found.begin(), found.end()};
}

TEST_CASE("hosts are numbered by their lowest ranks, whatever their labels are") {
  const HostMap map(std::vector<int>{7, 3, 7, 7, 0});
  CHECK(map.hosts() == 3);
  CHECK(ranks(map, 0) == std::vector<int>{0, 2, 3});
  CHECK(ranks(map, 1) == std::vector<int>{1});
  CHECK(ranks(map, 2) == std::vector<int>{4});
  CHECK(map.host_of(3) == 0);
  CHECK(map.local_index(3) == 2);
  CHECK(map.host_of(4) == 2);
  CHECK(map.local_index(4) == 0);
  CHECK(map.fewest() == 1);
}

TEST_CASE("hosts are nested when there are several, and one of them has several ranks") {
  CHECK(!HostMap(std::vector<int>{5}).is_nested());
  CHECK(!HostMap(std::vector<int>{5, 5, 5}).is_nested());
  CHECK(!HostMap(std::vector<int>{0, 1, 2}).is_nested());
  CHECK(HostMap(std::vector<int>{0, 1, 1}).is_nested());
}

TEST_CASE("hosts are in order when they are filled one after the other, and even when equal") {
  CHECK(HostMap(std::vector<int>{4, 4, 1}).is_in_order());
  CHECK(!HostMap(std::vector<int>{4, 1, 4}).is_in_order());
  CHECK(HostMap(std::vector<int>{4, 1, 4, 1}).is_even());
  CHECK(!HostMap(std::vector<int>{4, 4, 1}).is_even());
}

}  // namespace
}  // namespace dt

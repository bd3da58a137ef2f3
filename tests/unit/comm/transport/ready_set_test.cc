#include "comm/transport/ready_set.h"

#include <doctest/doctest.h>

#include <vector>

namespace dt {
namespace {

std::vector<size_t> contents(ReadySet& set) {
  std::vector<size_t> indices;
  set.for_each([&](size_t index) { indices.push_back(index); });
  return indices;
}

TEST_CASE("a ready set gives each index once, in ascending order") {
  ReadySet set(130);
  CHECK(contents(set).empty());
  for (const size_t index : {129, 0, 64, 63, 0})
    set.add(index);
  CHECK(contents(set) == std::vector<size_t>{0, 63, 64, 129});
  set.remove(63);
  set.remove(5);
  CHECK(contents(set) == std::vector<size_t>{0, 64, 129});
}

TEST_CASE("a walk over a ready set may change it") {
  ReadySet set(70);
  set.add(1);
  set.add(69);
  set.for_each([&](size_t index) {
    set.remove(index);
    if (index == 1) set.add(2);
  });
  CHECK(contents(set) == std::vector<size_t>{2});
}

}  // namespace
}  // namespace dt

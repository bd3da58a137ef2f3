#include "comm/group/time_limits.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace dt {
namespace {

Time after(int s) {
  return Time(seconds(s));
}

TEST_CASE("the earliest limit behind the first operation is that of any later one") {
  TimeLimits limits;
  CHECK(limits.earliest_behind(1) == Time::max());
  limits.push(1, after(1));
  CHECK(limits.earliest_behind(1) == Time::max());
  limits.push(2, after(9));
  limits.push(3, after(5));
  limits.push(4, Time::max());
  limits.push(5, after(7));
  CHECK(limits.earliest_behind(1) == after(5));
  limits.pop_to(2);
  CHECK(limits.earliest_behind(3) == after(7));
  limits.pop_to(4);
  CHECK(limits.earliest_behind(5) == Time::max());
  limits.clear();
  limits.push(6, after(3));
  CHECK(limits.earliest_behind(5) == after(3));
}

TEST_CASE("limits in any order have the same earliest ones as a look at all of them") {
  std::vector<Time> ends;
  TimeLimits limits;
  uint64_t first = 0;
  for (uint64_t push = 0; push < 500; ++push) {
    // Multiples of 37 modulo 101 are in a scattered order.
    const auto scattered = static_cast<int>(push * 37 % 101);
    ends.push_back(scattered < 10 ? Time::max() : after(scattered));
    limits.push(push, ends.back());
    if (push % 3 == 2) limits.pop_to(first++);
    const auto behind = ends.begin() + static_cast<std::ptrdiff_t>(first) + 1;
    const Time earliest =
        behind == ends.end() ? Time::max() : *std::min_element(behind, ends.end());
    CHECK(limits.earliest_behind(first) == earliest);
  }
}

}  // namespace
}  // namespace dt

#include "launcher/job/host_clocks.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("times of hosts are converted to our clock, whatever their clocks show") {
  HostClocks clocks(2);
  CHECK(clocks.by_our_clock(0, 5'000, 5'300, 800) == 500);
  CHECK(clocks.by_our_clock(1, 90, 100, 820) == 810);
}

TEST_CASE("times of one host keep their order, however long their messages take") {
  HostClocks clocks(1);
  const int64_t later = clocks.by_our_clock(0, 1'050, 1'060, 2'060);
  const int64_t sooner = clocks.by_our_clock(0, 1'000, 1'300, 2'900);
  CHECK(later == 2'050);
  CHECK(sooner == 2'000);
}

}  // namespace
}  // namespace dt

#include "launcher/protocol/lease.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

struct Fixture {
  Time start = Time() + seconds(1000);
  Lease lease{seconds(1), seconds(5), start};
  /// Looks once a second until then; true if the lease ran out on the way.
  bool over_by(int second) {
    for (; at <= second; ++at) {
      if (lease.over(start + seconds(at))) return true;
    }
    return false;
  }
  int at = 1;
};

TEST_CASE_FIXTURE(Fixture, "Lease runs out after the dead-after time without a word") {
  CHECK_FALSE(over_by(5));
  CHECK(over_by(6));
}

TEST_CASE_FIXTURE(Fixture, "Lease lasts as long as the other side speaks") {
  CHECK_FALSE(over_by(5));
  lease.heard(start + seconds(5));
  CHECK_FALSE(over_by(10));
  CHECK(over_by(11));
}

TEST_CASE_FIXTURE(Fixture, "Lease: one's own absence is no silence of the other side") {
  CHECK_FALSE(over_by(1));
  CHECK_FALSE(lease.over(start + seconds(42)));
  CHECK(lease.suspended(start + seconds(42)) == seconds(41));
  // From then on it counts again, and the absence is forgotten in time.
  at = 43;
  CHECK_FALSE(over_by(47));
  CHECK(over_by(48));
  CHECK_FALSE(lease.suspended(start + seconds(53)));
}

TEST_CASE_FIXTURE(Fixture, "Lease: who was held up may have words before him that are not read") {
  CHECK_FALSE(over_by(1));
  lease.heard(start + seconds(1));
  // Of these 4.9 seconds it has slept through 3.4.
  CHECK_FALSE(lease.over(start + milliseconds(5900)));
  CHECK_FALSE(lease.over(start + milliseconds(6900)));
  CHECK_FALSE(lease.suspended(start + milliseconds(6900)));
  at = 8;
  CHECK_FALSE(over_by(9));
  CHECK(over_by(10));
}

TEST_CASE_FIXTURE(Fixture, "Lease: looks that are a little late count in full") {
  for (int look = 1; look <= 4; ++look)
    CHECK_FALSE(lease.over(start + look * milliseconds(1250)));
  CHECK(lease.over(start + 5 * milliseconds(1250)));
}

TEST_CASE_FIXTURE(Fixture, "Lease knows of an absence before anybody has asked") {
  CHECK_FALSE(over_by(1));
  CHECK_FALSE(lease.suspended(start + seconds(6)));
  CHECK(lease.suspended(start + seconds(20)) == seconds(19));
}

TEST_CASE_FIXTURE(Fixture, "Lease: an agreed silence is neither an absence nor a silence") {
  CHECK_FALSE(over_by(1));
  lease.restart(start + seconds(100));
  CHECK_FALSE(lease.suspended(start + seconds(100)));
  at = 101;
  CHECK_FALSE(over_by(105));
  CHECK(over_by(106));
}

}  // namespace
}  // namespace dt

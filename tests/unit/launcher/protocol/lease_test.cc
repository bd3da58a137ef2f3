#include "launcher/protocol/lease.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

struct Fixture {
  Time start = Time() + seconds(1000);
  Lease lease{seconds(1), seconds(5), start};
  /// Checks once a second up to then; returns true if the lease ran out before.
  bool over_by(int second) {
    for (; at <= second; ++at) {
      if (lease.over(start + seconds(at))) return true;
    }
    return false;
  }
  int at = 1;
};

TEST_CASE_FIXTURE(Fixture, "Lease runs out after the dead-after time without a message") {
  CHECK_FALSE(over_by(5));
  CHECK(over_by(6));
}

TEST_CASE_FIXTURE(Fixture, "Lease lasts as long as the peer sends") {
  CHECK_FALSE(over_by(5));
  lease.heard(start + seconds(5));
  CHECK_FALSE(over_by(10));
  CHECK(over_by(11));
}

TEST_CASE_FIXTURE(Fixture, "Lease: a suspension of this process is no silence of the peer") {
  CHECK_FALSE(over_by(1));
  CHECK_FALSE(lease.over(start + seconds(42)));
  CHECK(lease.suspended(start + seconds(42)) == seconds(41));
  // From then on silence counts again, and suspended() expires.
  at = 43;
  CHECK_FALSE(over_by(47));
  CHECK(over_by(48));
  CHECK_FALSE(lease.suspended(start + seconds(53)));
}

TEST_CASE_FIXTURE(Fixture, "Lease: a late check does not count messages that may be unread") {
  CHECK_FALSE(over_by(1));
  lease.heard(start + seconds(1));
  // The process was blocked for 3.4 of these 4.9 seconds.
  CHECK_FALSE(lease.over(start + milliseconds(5900)));
  CHECK_FALSE(lease.over(start + milliseconds(6900)));
  CHECK_FALSE(lease.suspended(start + milliseconds(6900)));
  at = 8;
  CHECK_FALSE(over_by(9));
  CHECK(over_by(10));
}

TEST_CASE_FIXTURE(Fixture, "Lease: checks that are a little late count in full") {
  for (int look = 1; look <= 4; ++look)
    CHECK_FALSE(lease.over(start + look * milliseconds(1250)));
  CHECK(lease.over(start + 5 * milliseconds(1250)));
}

TEST_CASE_FIXTURE(Fixture, "Lease knows of a suspension before the next check") {
  CHECK_FALSE(over_by(1));
  CHECK_FALSE(lease.suspended(start + seconds(6)));
  CHECK(lease.suspended(start + seconds(20)) == seconds(19));
}

TEST_CASE_FIXTURE(Fixture, "Lease: an agreed silence is neither a suspension nor a silence") {
  CHECK_FALSE(over_by(1));
  lease.restart(start + seconds(100));
  CHECK_FALSE(lease.suspended(start + seconds(100)));
  at = 101;
  CHECK_FALSE(over_by(105));
  CHECK(over_by(106));
}

TEST_CASE("Lease: it ends when the peer was silent for the whole time, not at the next heartbeat") {
  const Time begin = Clock::now();
  Lease lease(seconds(1), seconds(5), begin);
  lease.heard(begin + milliseconds(300));
  CHECK(lease.end() == begin + milliseconds(5300));
  for (int beat = 1; beat <= 5; ++beat)
    CHECK_FALSE(lease.over(begin + seconds(beat)));
  CHECK_FALSE(lease.over(lease.end()));
  CHECK(lease.over(lease.end() + milliseconds(1)));
}

}  // namespace
}  // namespace dt

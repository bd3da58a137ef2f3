#include "launcher/job/generations/host_cooldown.h"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

namespace dt {
namespace {

constexpr Time start_of_job{seconds(1000)};

/// Returns the delays of a host that fails again as soon as it may be used.
std::vector<Duration> delays_of(CooldownRange range, const std::vector<double>& randoms) {
  HostCooldown cooldown(range);
  std::vector<Duration> delays;
  Time now = start_of_job;
  for (const double random : randoms) {
    cooldown.failed("a", now, random);
    const Time end = cooldown.next_end(now).value_or(now);
    delays.push_back(end - now);
    now = end;
  }
  return delays;
}

TEST_CASE("HostCooldown: the delay doubles with each failure, between both limits") {
  // Measured with horovodrun, --blacklist-cooldown-range 10 100.
  CHECK(delays_of({.least = seconds(10), .most = seconds(100)}, {0.15, 0.72, 0.27, 0.5, 0}) ==
        std::vector<Duration>{milliseconds(21500), milliseconds(47200), milliseconds(82700),
                              seconds(100), seconds(100)});
  CHECK(delays_of({.least = seconds(10), .most = seconds(100)}, {0, 1}) ==
        std::vector<Duration>{seconds(20), seconds(50)});
  CHECK(delays_of({.least = seconds(1), .most = seconds(2)}, {0.1, 0.9, 0.5}) ==
        std::vector<Duration>(3, seconds(2)));
  CHECK(delays_of({.least = seconds(5), .most = seconds(5)}, {0, 1}) ==
        std::vector<Duration>(2, seconds(5)));
}

TEST_CASE("HostCooldown: a host that fails for ever makes no overflow") {
  const std::vector<Duration> delays =
      delays_of({.least = seconds(1), .most = seconds(3600)}, std::vector<double>(200, 1.0));
  CHECK(delays[0] == seconds(3));
  CHECK(delays[10] == seconds(2049));
  CHECK(delays[11] == seconds(3600));
  CHECK(delays.back() == seconds(3600));
}

// Horovod's test_elastic_driver.py has this name, and resurrecting_blacklisted_hosts the end.
TEST_CASE("HostCooldown: blacklist_host keeps the host out, and no other one") {
  HostCooldown cooldown({.least = seconds(10), .most = seconds(100)});
  const Time now = start_of_job;
  CHECK_FALSE(cooldown.is_out("a", now));
  CHECK_FALSE(cooldown.next_end(now).has_value());
  cooldown.failed("a", now, 0.5);
  CHECK(cooldown.is_out("a", now));
  CHECK_FALSE(cooldown.is_out("b", now));
  CHECK(cooldown.is_out("a", now + seconds(25) - milliseconds(1)));
  CHECK_FALSE(cooldown.is_out("a", now + seconds(25)));
}

TEST_CASE("HostCooldown: the next end is that of the host that returns first") {
  HostCooldown cooldown({.least = seconds(10), .most = seconds(100)});
  const Time now = start_of_job;
  cooldown.failed("a", now, 1);
  cooldown.failed("b", now, 0);
  CHECK(cooldown.next_end(now) == now + seconds(20));
  CHECK(cooldown.next_end(now + seconds(20)) == now + seconds(30));
  CHECK_FALSE(cooldown.next_end(now + seconds(30)).has_value());
}

TEST_CASE("HostCooldown: failures of a host that is out count once") {
  HostCooldown cooldown({.least = seconds(10), .most = seconds(100)});
  const Time now = start_of_job;
  for (int task = 0; task < 8; ++task)
    cooldown.failed("a", now + milliseconds(task), 0);
  CHECK(cooldown.next_end(now) == now + seconds(20));
  cooldown.failed("a", now + seconds(20), 0);
  CHECK(cooldown.next_end(now + seconds(20)) == now + seconds(60));
}

}  // namespace
}  // namespace dt

#include "launcher/connect/connect_limiter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  ConnectLimiter limiter{*loop, 2};
  std::string order = {};

  std::unique_ptr<ConnectLimiter::Permit> acquire(char name) {
    return limiter.acquire([this, name] { order += name; });
  }
  /// Runs all timers that are due.
  std::string run() {
    for (int i = 0; i < 3; ++i)
      REQUIRE(loop->run_once(Clock::now()));
    return std::exchange(order, "");
  }
};

TEST_CASE("as many permits are granted as the limit allows, and the next after a release") {
  Fixture f;
  auto a = f.acquire('a');
  auto b = f.acquire('b');
  auto c = f.acquire('c');
  auto d = f.acquire('d');
  CHECK(f.order.empty());  // never within the call
  CHECK(f.run() == "ab");
  CHECK(f.run().empty());
  b.reset();
  CHECK(f.run() == "c");
  a.reset();
  c.reset();
  CHECK(f.run() == "d");
}

TEST_CASE("a request that was withdrawn is skipped") {
  Fixture f;
  auto a = f.acquire('a');
  auto b = f.acquire('b');
  auto c = f.acquire('c');
  auto d = f.acquire('d');
  c.reset();
  f.run();
  a.reset();
  CHECK(f.run() == "d");
}

TEST_CASE("a permit that is released before its callback goes to the next request") {
  Fixture f;
  auto a = f.acquire('a');
  auto b = f.acquire('b');
  auto c = f.acquire('c');
  a.reset();
  CHECK(f.run() == "bc");
}

}  // namespace
}  // namespace dt

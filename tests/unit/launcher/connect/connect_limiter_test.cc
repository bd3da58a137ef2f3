#include "launcher/connect/connect_limiter.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  ConnectLimiter turns{*loop, 2};
  std::string order = {};

  std::unique_ptr<ConnectLimiter::Permit> ask(char name) {
    return turns.ask([this, name] { order += name; });
  }
  /// All that is due.
  std::string run() {
    for (int i = 0; i < 3; ++i)
      REQUIRE(loop->run_once(Clock::now()));
    return std::exchange(order, "");
  }
};

TEST_CASE("so many have their turn at once, and the next when one of them has ended") {
  Fixture f;
  auto a = f.ask('a');
  auto b = f.ask('b');
  auto c = f.ask('c');
  auto d = f.ask('d');
  CHECK(f.order.empty());  // never within the call
  CHECK(f.run() == "ab");
  CHECK(f.run().empty());
  b.reset();
  CHECK(f.run() == "c");
  a.reset();
  c.reset();
  CHECK(f.run() == "d");
}

TEST_CASE("who no longer waits is passed over") {
  Fixture f;
  auto a = f.ask('a');
  auto b = f.ask('b');
  auto c = f.ask('c');
  auto d = f.ask('d');
  c.reset();
  f.run();
  a.reset();
  CHECK(f.run() == "d");
}

TEST_CASE("a turn that was given and given back before it came is the next one's") {
  Fixture f;
  auto a = f.ask('a');
  auto b = f.ask('b');
  auto c = f.ask('c');
  a.reset();
  CHECK(f.run() == "bc");
}

}  // namespace
}  // namespace dt

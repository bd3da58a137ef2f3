#include "rendezvous/secure/deadlines.h"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace dt {
namespace {

struct Fixture {
  std::unique_ptr<Loop> loop = Loop::create().value();
  std::vector<uint64_t> passed;
  Deadlines deadlines{*loop, Duration::zero(), [this](uint64_t id) { passed.push_back(id); }};

  void run() { REQUIRE(loop->run_once(Clock::now())); }
};

TEST_CASE("a deadline passes once, in the order of their starts, and not when it was ended") {
  Fixture f;
  for (const uint64_t id : {7, 3, 5})
    f.deadlines.start(id);
  f.deadlines.end(3);
  f.run();
  CHECK(f.passed == std::vector<uint64_t>{7, 5});
  f.run();
  CHECK(f.passed.size() == 2);
}

TEST_CASE("no deadline passes while they are suspended, nor do new ones; then all do") {
  Fixture f;
  f.deadlines.start(1);
  f.deadlines.suspend();
  f.deadlines.start(2);
  f.run();
  CHECK(f.passed.empty());
  f.deadlines.restart();
  f.run();
  CHECK(f.passed == std::vector<uint64_t>{1, 2});
}

}  // namespace
}  // namespace dt

#pragma once

#include "base/io/loop.h"

#include <doctest/doctest.h>

namespace dt {

/// Runs the loop until the predicate holds, which is tested before each round. The test fails if
/// that takes 60 s, far longer than anything that is meant to succeed.
template <class Done>
void run_until(Loop& loop, Done done) {
  const Time deadline = Clock::now() + seconds(60);
  while (!done()) {
    REQUIRE(Clock::now() < deadline);
    REQUIRE(loop.run_once(deadline));
  }
}

}  // namespace dt

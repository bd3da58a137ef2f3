#include "base/spin_pause.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a loop that only pauses reads memory anew each time") {
  // Without the pause's barrier, the compiler would read the flag once.
  bool flag = false;
  int turns = 0;
  bool* const address = &flag;
  while (!flag && turns < 10) {
    spin_pause();
    if (++turns == 5) *address = true;
  }
  CHECK(turns == 5);
}

}  // namespace
}  // namespace dt

#include "comm/driver/core_sharing.h"

#include <doctest/doctest.h>

using namespace dt;

TEST_CASE("a core that too many ranks share is known from the start") {
  CoreSharing core(true);
  CHECK(core.yields());
  for (int i = 0; i < 2 * CoreSharing::quick_yields_max; ++i)
    core.note_yield(Duration::zero());
  CHECK(core.yields());
}

TEST_CASE("a yield that switches to another process marks the core as shared") {
  CoreSharing core(false);
  CHECK_FALSE(core.yields());
  core.note_yield(CoreSharing::switched_after - Duration(1));
  CHECK_FALSE(core.yields());
  core.note_yield(CoreSharing::switched_after);
  CHECK(core.yields());
}

TEST_CASE("many yields without a switch mark it as unshared again") {
  CoreSharing core(false);
  core.note_yield(CoreSharing::switched_after);
  for (int i = 1; i < CoreSharing::quick_yields_max; ++i)
    core.note_yield(Duration::zero());
  CHECK(core.yields());
  core.note_yield(Duration::zero());
  CHECK_FALSE(core.yields());
}

TEST_CASE("a wait on an unshared core yields in some rounds only") {
  CoreSharing core(false);
  int probes = 0;
  for (int round = 0; round < 10 * CoreSharing::rounds_per_probe; ++round)
    probes += core.must_probe() ? 1 : 0;
  CHECK(probes == 10);
}

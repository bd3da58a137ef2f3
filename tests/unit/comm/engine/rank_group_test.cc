#include "comm/engine/rank_group.h"

#include "tests/unit/comm/engine/engine_group.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a thread may ask about a named call that is not submitted yet") {
  EngineGroup group(2);
  Operation early;
  early.request = {.kind = OperationKind::barrier, .name = "first"};
  CHECK(!group[0].poll(early));
  CHECK(group[0].awaited(early).empty());
  CHECK(group[0].last_before(early).empty());
}

}  // namespace
}  // namespace dt

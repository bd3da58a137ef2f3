#include "gpu/cpu/call_probe.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("each call of a device has its name in messages") {
  CHECK(name_of(DeviceCall::allocate) == "allocate");
  CHECK(name_of(DeviceCall::reduce) == "reduce");
  CHECK(name_of(DeviceCall::synchronize) == "synchronize");
}

}  // namespace
}  // namespace dt

#include "gpu/cpu/cpu_world.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("a device keeps its first failure, and other devices do not have it") {
  CpuWorld world({.count = 2});
  CHECK(world.status(1).has_value());
  world.fail_device(1, "copy", {Errc::os, "first"});
  world.fail_device(1, "fill", {Errc::timeout, "second"});
  const Result<> status = world.status(1);
  REQUIRE_FALSE(status.has_value());
  CHECK(status.error() == Error{Errc::os, "cpu:1 has failed and stays unusable: copy: first"});
  CHECK(world.status(0).has_value());
}

TEST_CASE("an overrun is a failure of the device, and no overrun is none") {
  CpuWorld world({.count = 1});
  world.fail_overrun(0, std::nullopt);
  CHECK(world.status(0).has_value());
  world.fail_overrun(0, "a buffer was overrun");
  CHECK(world.status(0).error().message ==
        "cpu:0 has failed and stays unusable: check of memory: a buffer was overrun");
}

TEST_CASE("without peer access, a device can use its own memory only") {
  const CpuWorld apart({.count = 2, .peer_access = false});
  CHECK(apart.can_access(1, 1));
  CHECK_FALSE(apart.can_access(1, 0));
  CHECK(CpuWorld({.count = 2}).can_access(1, 0));
}

TEST_CASE("a world without a probe injects nothing; a probe sees each call and its result counts") {
  CHECK(CpuWorld({}).probe({}).has_value());
  ProbedCall seen;
  const CpuWorld world({.count = 2, .probe = [&](const ProbedCall& call) -> Result<> {
                          seen = call;
                          return fail(Errc::os, "injected");
                        }});
  const ProbedCall call = {.device = 1, .call = DeviceCall::fill, .runs = true};
  CHECK(world.probe(call).error().message == "injected");
  CHECK(seen == call);
}

}  // namespace
}  // namespace dt

#include "base/kernels/kernel_choice.h"

#include "base/kernels/cpu.h"

#include <doctest/doctest.h>

#include <string>

namespace dt {
namespace {

TEST_CASE("a process uses the fastest kernels until others are named") {
  const KernelSet& fastest = *usable_kernels().front();
  CHECK(&kernels() == &fastest);
  for (const KernelSet* set : usable_kernels()) {
    REQUIRE(use_kernels(set->name).has_value());
    CHECK(&kernels() == set);
  }
  const KernelSet* const before = &kernels();
  const Result<> unknown = use_kernels("mmx");
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().code == Errc::input);
  CHECK(
      unknown.error().message.starts_with("there are no kernels 'mmx' for this CPU; it can run "));
  CHECK(unknown.error().message.ends_with(portable_kernels.name));
  CHECK(&kernels() == before);
  REQUIRE(use_kernels(fastest.name).has_value());
}

}  // namespace
}  // namespace dt

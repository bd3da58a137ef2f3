#include "tests/unit/base/kernels/kernel_arrays.h"

#include <doctest/doctest.h>

namespace dt {
namespace {

TEST_CASE("the portable kernels are the only ones of other architectures") {
  REQUIRE(usable_kernels().size() == 1);
  CHECK(usable_kernels().front() == &portable_kernels);
}

TEST_CASE("a copy past the caches copies as memcpy does") {
  std::byte from[100];
  std::byte to[100] = {};
  std::memset(from, 7, sizeof from);
  copy_past_caches(to, from, sizeof from);
  CHECK(std::memcmp(to, from, sizeof from) == 0);
  copy_past_caches(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace dt

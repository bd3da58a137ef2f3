#include "gpu/cpu/cpu_allocation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace dt {
namespace {

std::shared_ptr<CpuAllocation> allocation_of(size_t bytes) {
  return CpuAllocation::make({.bytes = bytes}).value();
}

TEST_CASE("fresh memory of a device is aligned, and NaN in each float type") {
  for (const size_t bytes : {1, 255, 256, 257, 4096}) {
    CAPTURE(bytes);
    const auto allocation = allocation_of(bytes);
    CHECK(reinterpret_cast<uintptr_t>(allocation->at()) % 256 == 0);
    const std::span<const std::byte> memory(allocation->at(), bytes);
    CHECK(std::ranges::all_of(memory, [](std::byte byte) { return byte == poison; }));
    CHECK_FALSE(allocation->overrun().has_value());
  }
  float single = 0;
  double wide = 0;
  std::memset(&single, static_cast<int>(poison), sizeof single);
  std::memset(&wide, static_cast<int>(poison), sizeof wide);
  CHECK(std::isnan(single));
  CHECK(std::isnan(wide));
}

TEST_CASE("a red zone shows a write of one byte past either end") {
  for (const size_t bytes : {1, 255, 256, 257, 4096}) {
    CAPTURE(bytes);
    const auto allocation = allocation_of(bytes);
    std::memset(allocation->at(), 0, bytes);
    CHECK_FALSE(allocation->overrun().has_value());
    allocation->at()[bytes] = std::byte{1};
    CHECK(allocation->overrun() == "a buffer of " + std::to_string(bytes) +
                                       " bytes was overrun: 0 bytes before it and 1 after it have "
                                       "changed");
    allocation->at()[-1] = std::byte{1};
    allocation->at()[-2] = std::byte{1};
    CHECK(allocation->overrun() == "a buffer of " + std::to_string(bytes) +
                                       " bytes was overrun: 2 bytes before it and 1 after it have "
                                       "changed");
  }
}

TEST_CASE("an allocation holds ranges within it, and covers its red zones, too") {
  const auto allocation = allocation_of(100);
  const std::byte* at = allocation->at();
  CHECK(allocation->holds(at, 100));
  CHECK(allocation->holds(at + 99, 1));
  CHECK(allocation->holds(at + 100, 0));
  CHECK_FALSE(allocation->holds(at, 101));
  CHECK_FALSE(allocation->holds(at + 99, 2));
  CHECK_FALSE(allocation->holds(at - 1, 1));
  CHECK_FALSE(allocation->holds(at + 1, std::numeric_limits<size_t>::max()));
  CHECK(allocation->covers(at - 1));
  CHECK(allocation->covers(at + 100));
  CHECK(allocation->covers(at + 355));
  CHECK_FALSE(allocation->covers(nullptr));
}

TEST_CASE("memory that this host does not have is an error") {
  const auto result = CpuAllocation::make({.bytes = std::numeric_limits<size_t>::max() - 7});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error() ==
        Error{Errc::out_of_memory,
              "cannot allocate 18446744073709551608 bytes: this host has no more memory"});
}

}  // namespace
}  // namespace dt

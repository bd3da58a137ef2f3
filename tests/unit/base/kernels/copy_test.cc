#include "base/kernels/copy.h"

#include "base/kernels/cpu.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace dt {
namespace {

constexpr size_t room = size_t{3} << 12;

std::vector<std::byte> pattern() {
  std::vector<std::byte> bytes(room);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte{static_cast<uint8_t>(i * 7 + i / 251)};
  return bytes;
}

/// True when `copy` writes exactly the wanted bytes to that place.
template <class Copy>
bool copies(const Copy& copy, size_t to, size_t from, size_t bytes) {
  const std::vector<std::byte> source = pattern();
  std::vector<std::byte> target(room, std::byte{0xee});
  std::vector<std::byte> wanted = target;
  for (size_t i = 0; i < bytes; ++i)
    wanted[to + i] = source[from + i];
  copy(target.data() + to, source.data() + from, bytes);
  return target == wanted;
}

TEST_CASE("each set of kernels copies every size, wherever the ranges begin") {
  for (const KernelSet* set : usable_kernels()) {
    CAPTURE(set->name);
    for (size_t bytes = 0; bytes < 600; ++bytes) {
      CAPTURE(bytes);
      REQUIRE(copies(set->copy, bytes % 67, bytes % 13, bytes));
    }
  }
}

TEST_CASE("a copy has all its bytes, on both sides of the size at which the loop begins") {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{1023}, size_t{1024}, size_t{1025}, 2 * room / 3}) {
    CAPTURE(bytes);
    REQUIRE(copies(copy_array, 1, 0, bytes));
    REQUIRE(copies(copy_array, 0, 17, bytes));
  }
}

TEST_CASE("a range may be copied to itself, and nothing to nowhere") {
  std::vector<std::byte> bytes = pattern();
  copy_array(bytes.data(), bytes.data(), bytes.size());
  usable_kernels().front()->copy(bytes.data(), bytes.data(), bytes.size());
  CHECK(bytes == pattern());
  copy_array(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace dt

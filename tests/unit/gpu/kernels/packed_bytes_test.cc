#include "tests/gpu/packed_bytes.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace dt {
namespace {

constexpr size_t sizes[] = {5, 16, 33};
constexpr size_t places[] = {0, 16, 32};
constexpr size_t total = 16 + 16 + 48;

/// Packs the tensors, one by one.
std::vector<std::byte> packed_from(const std::vector<std::byte>& source) {
  std::vector<std::byte> to(total);
  for (size_t i = 0; i < std::size(sizes); ++i)
    std::copy_n(source.begin() + static_cast<ptrdiff_t>(places[i]), sizes[i],
                to.begin() + static_cast<ptrdiff_t>(places[i]));
  return to;
}

TEST_CASE("packed tensors keep their places, with zeroes between them") {
  const std::vector<std::byte> source = varied_bytes(total, 3);
  CHECK(packed_bytes(source, sizes) == packed_from(source));
}

TEST_CASE("a tensor that is moved, cut short, written too far, or of another call is found") {
  const std::vector<std::byte> source = varied_bytes(total, 3);
  const std::vector<std::byte> expected = packed_bytes(source, sizes);
  std::vector<std::byte> swapped = packed_from(source);
  std::swap_ranges(swapped.begin() + 32, swapped.begin() + 48, swapped.begin() + 16);
  CHECK(swapped != expected);
  for (const size_t at : {size_t{4}, size_t{5}, size_t{64}, size_t{65}}) {
    std::vector<std::byte> wrong = packed_from(source);
    wrong[at] = at == 5 || at == 65 ? source[at] : std::byte{0};
    CAPTURE(at);
    CHECK(wrong != expected);
  }
  CHECK(packed_from(varied_bytes(total, 4)) != expected);
}

}  // namespace
}  // namespace dt

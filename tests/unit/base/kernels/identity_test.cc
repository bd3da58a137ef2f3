#include "base/kernels/identity.h"

#include "base/kernels/reducer.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace dt {
namespace {

constexpr std::array reductions = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max,
                                   ReduceOp::product};

/// Elements of any bits but those of NaN; 0 and 1 for booleans.
std::vector<std::byte> samples(ElementType type, size_t count) {
  std::vector<std::byte> bytes(count * element_bytes(type));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t bits = type == ElementType::boolean ? i % 2 : (i * 37) % 120;
    bytes[i] = static_cast<std::byte>(bits);
  }
  // A negative zero is what is left of a byte of the sign.
  if (type == ElementType::float32) bytes[0] = bytes[1] = bytes[2] = std::byte{0};
  if (type == ElementType::float32) bytes[3] = std::byte{0x80};
  return bytes;
}

TEST_CASE("an element that is reduced with the identity keeps its bits") {
  constexpr size_t count = 100;
  for (size_t type = 0; type < element_type_count; ++type) {
    const auto element = static_cast<ElementType>(type);
    for (const ReduceOp op : reductions) {
      CAPTURE(type);
      CAPTURE(static_cast<int>(op));
      // An average is divided later.
      const ReduceOp reduced = op == ReduceOp::average ? ReduceOp::sum : op;
      const std::vector<std::byte> wanted = samples(element, count);
      std::vector<std::byte> values = wanted;
      std::vector<std::byte> identity(wanted.size());
      fill_identity(element, op, identity.data(), count);
      Reducer(element, reduced).reduce(values.data(), identity.data(), count);
      CHECK(values == wanted);
    }
  }
}

}  // namespace
}  // namespace dt

#include "gpu/copy_batch.h"

#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace dt {
namespace {

TEST_CASE("copy_format: floats are cast, all other elements are bytes") {
  CHECK(copy_format(ElementType::float16) == CopyFormat::float16);
  CHECK(copy_format(ElementType::bfloat16) == CopyFormat::bfloat16);
  CHECK(copy_format(ElementType::float32) == CopyFormat::float32);
  CHECK(copy_format(ElementType::float64) == CopyFormat::float64);
  CHECK(copy_format(ElementType::float8_e4m3) == CopyFormat::float8_e4m3);
  CHECK(copy_format(ElementType::float8_e5m2) == CopyFormat::float8_e5m2);
  CHECK(copy_format(ElementType::uint8) == CopyFormat::bytes1);
  for (size_t i = 0; i < element_type_count; ++i) {
    const auto type = static_cast<ElementType>(i);
    CHECK(format_bytes(copy_format(type)) == element_bytes(type));
    CHECK(format_bytes(moved_format(type)) == element_bytes(type));
    CHECK(moved_format(type) <= CopyFormat::bytes8);
  }
}

TEST_CASE("a batch that no device can make is refused with the reason") {
  alignas(16) std::array<std::byte, 64> memory = {};
  std::byte* const at = memory.data();
  struct Case {
    CopyBatch batch;
    const char* message;
  };
  const Case cases[] = {
      {{.from = CopyFormat::float16, .to = CopyFormat::bfloat16},
       "cannot copy: there is no cast between these formats"},
      {{.from = CopyFormat::float64, .to = CopyFormat::float32},
       "cannot copy: there is no cast between these formats"},
      {{.from = CopyFormat::bytes4, .to = CopyFormat::float32},
       "cannot copy: there is no cast between these formats"},
      {{.from = CopyFormat::float32,
        .to = CopyFormat::float32,
        .factor = std::numeric_limits<double>::infinity()},
       "cannot copy: the factor is not finite"},
      {{.from = CopyFormat::bytes4, .to = CopyFormat::bytes4, .factor = 2},
       "cannot copy: bytes have no factor"},
      {{.pieces = {{at, at + 8, 4}, {nullptr, at, 1}}}, "cannot copy: piece 1 is null"},
      {{.from = CopyFormat::float32, .to = CopyFormat::float16, .pieces = {{at + 2, at, 1}}},
       "cannot copy: piece 0 is not aligned to its elements"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.message);
    const auto checked = check(c.batch);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error() == Error{Errc::input, c.message});
  }
  CHECK(check(CopyBatch{.from = CopyFormat::float32,
                        .to = CopyFormat::float8_e4m3,
                        .pieces = {{at + 4, at + 33, 3}, {nullptr, nullptr, 0}}})
            .has_value());
}

}  // namespace
}  // namespace dt

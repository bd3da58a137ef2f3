#pragma once

#include "base/kernels/element.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// The elements of a CopyBatch as they lie in memory. Elements that are only moved have the format
/// of their size.
enum class CopyFormat : uint8_t {
  bytes1,
  bytes2,
  bytes4,
  bytes8,
  float16,
  bfloat16,
  float32,
  float64,
  float8_e4m3,  ///< of the OCP; too large values become 448
  float8_e5m2,  ///< too large values become 57344
};

inline constexpr size_t copy_format_count = 10;

constexpr size_t format_bytes(CopyFormat format) {
  constexpr size_t bytes[] = {1, 2, 4, 8, 2, 2, 4, 8, 1, 1};
  static_assert(sizeof bytes / sizeof bytes[0] == copy_format_count);
  return bytes[static_cast<size_t>(format)];
}

/// Returns the format of an element type that is scaled or cast; for integers and booleans, that of
/// their size.
CopyFormat copy_format(ElementType type);

/// Returns the format of elements of that type that keep their bits, also those of a NaN.
CopyFormat moved_format(ElementType type);

/// Elements that lie one behind the other in both places. The ranges do not overlap.
struct CopyPiece {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  size_t count = 0;
  bool operator==(const CopyPiece&) const = default;
};

/// Many copies that one kernel makes, such as those of tensors into a fusion buffer, or back.
/// Elements are cast and multiplied on the way.
///
/// Elements of float16, bfloat16 and 8-bit floats are multiplied as float32, and rounded once to
/// nearest even. The factor is rounded to the type of the multiplication.
struct CopyBatch {
  CopyFormat from = CopyFormat::bytes1;
  CopyFormat to = CopyFormat::bytes1;
  double factor = 1;
  std::vector<CopyPiece> pieces = {};
  /// A flag in memory that the device can access. Nothing is copied if it is not zero when the
  /// copies begin. Null: there is none.
  const uint32_t* skip = nullptr;
  bool operator==(const CopyBatch&) const = default;
};

/// Fails with Errc::input for a batch that no device can make. Formats differ only if one is
/// float32 and the other a smaller float. A factor is finite, and 1 for bytes. No piece is null or
/// misaligned for its elements.
Result<> check(const CopyBatch& batch);

}  // namespace dt

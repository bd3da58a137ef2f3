#include "gpu/copy_batch.h"

#include "base/format.h"

#include <cmath>

namespace dt {

namespace {

bool is_float(CopyFormat format) {
  return format >= CopyFormat::float16;
}

/// True when one is float32 and the other a smaller float, or both are the same.
bool can_cast(CopyFormat a, CopyFormat b) {
  const auto small = [](CopyFormat format) {
    return is_float(format) && format != CopyFormat::float32 && format != CopyFormat::float64;
  };
  return a == b || (a == CopyFormat::float32 && small(b)) || (b == CopyFormat::float32 && small(a));
}

bool is_aligned(const std::byte* address, size_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

}  // namespace

CopyFormat copy_format(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return CopyFormat::float16;
    case ElementType::bfloat16:
      return CopyFormat::bfloat16;
    case ElementType::float32:
      return CopyFormat::float32;
    case ElementType::float64:
      return CopyFormat::float64;
    case ElementType::float8_e4m3:
      return CopyFormat::float8_e4m3;
    case ElementType::float8_e5m2:
      return CopyFormat::float8_e5m2;
    default:
      return moved_format(type);
  }
}

CopyFormat moved_format(ElementType type) {
  const size_t bytes = element_bytes(type);
  return bytes == 1   ? CopyFormat::bytes1
         : bytes == 2 ? CopyFormat::bytes2
         : bytes == 4 ? CopyFormat::bytes4
                      : CopyFormat::bytes8;
}

Result<> check(const CopyBatch& batch) {
  const auto wrong = [](std::string why) {
    return fail(Errc::input, format("cannot copy: {}", why));
  };
  if (!can_cast(batch.from, batch.to)) return wrong("there is no cast between these formats");
  if (!std::isfinite(batch.factor)) return wrong("the factor is not finite");
  if (!is_float(batch.from) && batch.factor != 1) return wrong("bytes have no factor");
  for (size_t i = 0; i < batch.pieces.size(); ++i) {
    const CopyPiece& piece = batch.pieces[i];
    if (piece.count == 0) continue;
    if (piece.from == nullptr || piece.to == nullptr) return wrong(format("piece {} is null", i));
    if (!is_aligned(piece.from, format_bytes(batch.from)) ||
        !is_aligned(piece.to, format_bytes(batch.to)))
      return wrong(format("piece {} is not aligned to its elements", i));
  }
  return {};
}

}  // namespace dt

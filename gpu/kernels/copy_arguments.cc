#include "gpu/kernels/copy_arguments.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace dt {

namespace {

/// Returns the elements before the first one at which both places are aligned.
uint32_t head_of(const CopyBatch& batch, const CopyPiece& piece) {
  const size_t from_bytes = format_bytes(batch.from);
  const size_t to_bytes = format_bytes(batch.to);
  const size_t width = sizeof(Chunk) / std::min(from_bytes, to_bytes);
  for (size_t head = 0; head < width; ++head) {
    const bool from = (reinterpret_cast<uintptr_t>(piece.from) + head * from_bytes) % 16 == 0;
    const bool to = (reinterpret_cast<uintptr_t>(piece.to) + head * to_bytes) % 16 == 0;
    if (from && to) return static_cast<uint32_t>(head);
  }
  return no_aligned_element;
}

}  // namespace

template <int capacity>
CopyArguments<capacity> copy_arguments(const CopyBatch& batch, std::span<const CopyPiece> pieces) {
  assert(pieces.size() <= capacity);
  // A power of two.
  const uint64_t tile = copy_tile_elements(format_bytes(batch.from), format_bytes(batch.to));
  const int tile_bits = std::countr_zero(tile);
  CopyArguments<capacity> arguments;
  arguments.factor = batch.factor;
  arguments.skip = batch.skip;
  for (const CopyPiece& piece : pieces) {
    arguments.items[arguments.item_count++] = {.from = piece.from,
                                               .to = piece.to,
                                               .count = piece.count,
                                               .tiles_before = arguments.tile_count,
                                               .head = head_of(batch, piece)};
    arguments.tile_count += static_cast<uint32_t>((piece.count + tile - 1) >> tile_bits);
  }
  return arguments;
}

template CopyArguments<few_copy_items> copy_arguments(const CopyBatch&, std::span<const CopyPiece>);
template CopyArguments<many_copy_items> copy_arguments(const CopyBatch&,
                                                       std::span<const CopyPiece>);

std::vector<CopyPiece> launchable_pieces(const CopyBatch& batch) {
  // A thousand of them have fewer than 2^32 tiles.
  constexpr size_t elements_max = size_t{1} << 33;
  std::vector<CopyPiece> pieces;
  pieces.reserve(batch.pieces.size());
  for (CopyPiece piece : batch.pieces) {
    while (piece.count > 0) {
      CopyPiece part = piece;
      part.count = std::min(piece.count, elements_max);
      pieces.push_back(part);
      piece.from += part.count * format_bytes(batch.from);
      piece.to += part.count * format_bytes(batch.to);
      piece.count -= part.count;
    }
  }
  return pieces;
}

}  // namespace dt

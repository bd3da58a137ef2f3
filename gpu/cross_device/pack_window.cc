#include "gpu/cross_device/pack_window.h"

#include <algorithm>

namespace dt {

namespace {

PackWindow window_of(const PackTensors& all, const PackPiece& piece) {
  const ReplicatedTensor& tensor = all.tensors[piece.tensor];
  const size_t skipped = piece.begin * element_bytes(all.terms.type);
  PackWindow window = {.count = piece.count};
  for (size_t i = 0; i < all.group.size(); ++i) {
    window.inputs.push_back(tensor.inputs[i] + skipped);
    window.outputs.push_back(tensor.outputs[i] + skipped);
  }
  return window;
}

/// Returns a batch without pieces, of elements that keep their bits.
CopyBatch batch_of(const PackTensors& all) {
  const CopyFormat format = moved_format(all.terms.type);
  return {.from = format, .to = format};
}

/// Copies the pieces to each device's packed slot.
Result<PackWindow> packed(const PackTensors& all, const Pack& pieces) {
  const size_t width = element_bytes(all.terms.type);
  PackWindow window = {.count = element_count(pieces)};
  for (size_t i = 0; i < all.group.size(); ++i) {
    std::byte* at = all.group.packed_slot(i);
    window.inputs.push_back(at);
    window.outputs.push_back(at);
    CopyBatch batch = batch_of(all);
    for (const PackPiece& piece : pieces) {
      const std::byte* from = all.tensors[piece.tensor].inputs[i] + piece.begin * width;
      batch.pieces.push_back({.from = from, .to = at, .count = piece.count});
      at += piece.count * width;
    }
    TRY(all.group.stream(i).copy_pieces(batch));
  }
  return window;
}

Result<> unpack(const PackTensors& all, const Pack& pieces) {
  const size_t width = element_bytes(all.terms.type);
  for (size_t i = 0; i < all.group.size(); ++i) {
    const std::byte* at = all.group.packed_slot(i);
    CopyBatch batch = batch_of(all);
    for (const PackPiece& piece : pieces) {
      std::byte* const to = all.tensors[piece.tensor].outputs[i] + piece.begin * width;
      batch.pieces.push_back({.from = at, .to = to, .count = piece.count});
      at += piece.count * width;
    }
    TRY(all.group.stream(i).copy_pieces(batch));
  }
  return {};
}

}  // namespace

Result<> reduce_in_windows(const PackTensors& all, const Pack& pack, size_t elements_max,
                           const std::function<Result<>(const PackWindow&)>& reduce) {
  const size_t count = element_count(pack);
  for (size_t at = 0; at < count; at += elements_max) {
    const Pack pieces = slice(pack, {at, std::min(at + elements_max, count)});
    if (pieces.size() == 1) {
      TRY(reduce(window_of(all, pieces[0])));
      continue;
    }
    const PackWindow window = TRY(packed(all, pieces));
    TRY(reduce(window));
    TRY(unpack(all, pieces));
  }
  return {};
}

}  // namespace dt

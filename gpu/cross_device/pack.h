#pragma once

#include <cstddef>
#include <vector>

namespace dt {

/// Some elements of a tensor.
struct PackPiece {
  size_t tensor = 0;
  size_t begin = 0;
  size_t count = 0;
  bool operator==(const PackPiece&) const = default;
};

/// Elements of one tensor or of several, one behind the other. They are reduced together.
using Pack = std::vector<PackPiece>;

/// Cuts the tensors, one behind the other, into `num_packs` packs of equal size (to one element).
/// With 0, each tensor is a pack of its own.
std::vector<Pack> make_packs(const std::vector<size_t>& counts, size_t num_packs);

/// A range of a pack's elements.
struct PackRange {
  size_t begin = 0;
  size_t end = 0;
};

size_t element_count(const Pack& pack);
/// Returns the pieces of a range. Requires a range within the pack.
Pack slice(const Pack& pack, const PackRange& range);

}  // namespace dt

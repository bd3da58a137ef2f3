#include "gpu/cross_device/pack.h"

#include <algorithm>

namespace dt {

namespace {

Pack whole(const std::vector<size_t>& counts) {
  Pack pack;
  for (size_t tensor = 0; tensor < counts.size(); ++tensor)
    if (counts[tensor] > 0) pack.push_back({.tensor = tensor, .count = counts[tensor]});
  return pack;
}

}  // namespace

std::vector<Pack> make_packs(const std::vector<size_t>& counts, size_t num_packs) {
  std::vector<Pack> packs;
  if (num_packs == 0) {
    for (size_t tensor = 0; tensor < counts.size(); ++tensor)
      packs.push_back({{.tensor = tensor, .count = counts[tensor]}});
    return packs;
  }
  const Pack all = whole(counts);
  const size_t even = element_count(all) / num_packs;
  const size_t larger = element_count(all) % num_packs;  // packs with one element more
  size_t begin = 0;
  for (size_t i = 0; i < num_packs; ++i) {
    const size_t end = begin + even + (i < larger ? 1 : 0);
    packs.push_back(slice(all, {begin, end}));
    begin = end;
  }
  return packs;
}

size_t element_count(const Pack& pack) {
  size_t count = 0;
  for (const PackPiece& piece : pack)
    count += piece.count;
  return count;
}

Pack slice(const Pack& pack, const PackRange& range) {
  Pack pieces;
  size_t begin = 0;  // of the piece, within the pack
  for (const PackPiece& piece : pack) {
    const size_t first = std::max(begin, range.begin);
    const size_t last = std::min(begin + piece.count, range.end);
    if (first < last) {
      pieces.push_back(
          {.tensor = piece.tensor, .begin = piece.begin + first - begin, .count = last - first});
    }
    begin += piece.count;
  }
  return pieces;
}

}  // namespace dt

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

/// Returns the numbers 0 to count - 1 in an order that depends only on `seed`: the same on every
/// rank, machine and standard library.
std::vector<std::size_t> shuffled_order(std::size_t count, std::uint64_t seed);

/// Returns the order in which an epoch uses the images. It needs no history, so a resumed run has
/// the same order.
std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::size_t epoch);

/// Positions begin to end - 1 of an order.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// Returns the part of a batch that a rank computes. Parts are in the order of ranks, and their
/// sizes differ by one at most. A part may be empty; all parts together are the whole batch.
Range shard(Range batch, std::size_t rank, std::size_t size);

}  // namespace digits

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

/// The numbers 0 to count - 1 in an order that depends on `seed` alone: the same on every rank,
/// machine and standard library.
std::vector<std::size_t> shuffled_order(std::size_t count, std::uint64_t seed);

/// The order in which an epoch sees the images. It needs no history, so a resumed run sees the
/// same.
std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::size_t epoch);

/// Positions begin to end - 1 of an order.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The part of a batch that a rank computes: in the order of ranks, sizes differing by one at most.
/// It may be empty; the parts of all ranks make the whole batch.
Range shard(Range batch, std::size_t rank, std::size_t size);

}  // namespace digits

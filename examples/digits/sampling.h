#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace digits {

/// Returns the numbers 0 to count - 1 in an order that depends only on `seed`. It is the same on
/// every rank, machine and standard library.
std::vector<std::size_t> shuffled_order(std::size_t count, std::uint64_t seed);

/// Returns the order in which an epoch uses the images. It needs no history, so a resumed run has
/// the same order.
std::vector<std::size_t> epoch_order(std::size_t count, std::uint64_t seed, std::size_t epoch);

}  // namespace digits

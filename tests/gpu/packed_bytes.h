#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace dt {

/// Bytes of a place that packed tensors take, as they begin at multiples of 16.
inline size_t padded_bytes(size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// Returns bytes that look random, so that a tensor that is missing, moved or cut short shows.
inline std::vector<std::byte> varied_bytes(size_t count, uint64_t seed) {
  std::vector<std::byte> bytes(padded_bytes(count));
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    // The mixer of SplitMix64, https://prng.di.unimi.it/splitmix64.c.
    uint64_t word = (seed << 40) + at * 0x9e3779b97f4a7c15U;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
    word = (word ^ word >> 27) * 0x94d049bb133111ebU;
    word ^= word >> 31;
    std::memcpy(&bytes[at], &word, sizeof word);
  }
  bytes.resize(count);
  return bytes;
}

/// Returns what packing must leave in memory of zeroes: the tensors of these sizes, at their places
/// in the source, and zeroes between them.
inline std::vector<std::byte> packed_bytes(std::span<const std::byte> source,
                                           std::span<const size_t> sizes) {
  std::vector<std::byte> packed(source.size());
  size_t at = 0;
  for (const size_t size : sizes) {
    std::memcpy(&packed[at], &source[at], size);
    at += padded_bytes(size);
  }
  return packed;
}

}  // namespace dt

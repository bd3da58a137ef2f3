#pragma once

#include "base/bytes.h"
#include "cmd/bench/bench_type.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dt {

/// Test values for one element type, reduction and number of ranks. They are small integers, or
/// powers of two for products. So every order of the reduction has the same exact result. All
/// arrays repeat after `period` elements, which makes large ones cheap to fill and to check.
class Pattern {
 public:
  /// A prime, so that no part of an array begins with the same value as the next one.
  static constexpr size_t period = 1021;

  struct World {
    int rank = 0;
    int size = 1;
  };
  Pattern(const BenchType& type, const BenchReduction& reduction, World world);

  /// The values of one rank.
  Bytes input_of(int rank) const;
  /// The reduction of the values of all ranks.
  Bytes reduced() const;

  /// Writes elements of a repeating `cycle`, beginning with that of index `first`.
  void fill(std::span<std::byte> into, ByteSpan cycle, size_t first) const;
  /// Counts the elements that differ from the repeating `cycle` in any bit.
  size_t count_wrong(ByteSpan found, ByteSpan cycle, size_t first) const;

 private:
  /// Returns the value as a multiple of a quarter for floating-point types, else as an integer.
  int64_t value(int rank, size_t index) const;
  int64_t reduced_value(size_t index) const;
  Bytes encoded(const std::vector<int64_t>& values) const;

  const BenchType& type_;
  const BenchReduction& reduction_;
  World world_;
};

}  // namespace dt

#pragma once

#include "base/kernels/element.h"
#include "base/result.h"
#include "comm/schedule/operation_terms.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// A matrix of which ranks have some rows, and how these are reduced.
struct SparseShape {
  ElementType type = ElementType::float32;
  ReduceOp reduce = ReduceOp::sum;
  size_t rows = 0;
  size_t width = 1;  ///< elements of a row

  size_t row_bytes() const { return width * element_bytes(type); }
  bool operator==(const SparseShape&) const = default;
};

/// Rows of a matrix, ascending, each once.
struct SparseRows {
  SparseShape shape;
  std::vector<int64_t> indices = {};
  std::unique_ptr<std::byte[]> values = {};  ///< row by row
  bool dense = false;                        ///< it has all rows
};

/// Sorts the rows, and reduces those of one index with each other in their order. Fails with
/// Errc::input for an index that the matrix does not have.
Result<SparseRows> merged_rows(const SparseShape& shape, std::span<const int64_t> indices,
                               const std::byte* values);

/// A rank that has at least this share of the rows makes the reduction dense. The exchange of
/// indices then costs more than the rows that it saves, as BENCHMARKS.md shows.
inline constexpr double dense_share = 0.4;
bool is_dense(const SparseRows& rows);

/// Returns the message of a rank to the others before the elements. It has the shape, and the
/// rank's indices unless they are dense.
std::vector<int64_t> row_message(const SparseRows& rows);
/// Returns the indices of the rows of all ranks, or none where the reduction is dense. The messages
/// of the ranks lie behind each other. Fails with Errc::mismatch where shapes differ.
Result<std::optional<std::vector<int64_t>>> united_rows(std::span<const int64_t> messages,
                                                        std::span<const size_t> counts);

/// Returns the rows of the union, each of this rank or the value that changes no result. None for
/// `indices` means all rows.
SparseRows spread_rows(SparseRows own, const std::optional<std::vector<int64_t>>& indices);

}  // namespace dt

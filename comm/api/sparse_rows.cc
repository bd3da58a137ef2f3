#include "comm/api/sparse_rows.h"

#include "base/format.h"
#include "base/kernels/identity.h"
#include "comm/collective/reduce.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace dt {

namespace {

constexpr size_t shape_fields = 5;

SparseShape shape_in(std::span<const int64_t> message) {
  return {.type = static_cast<ElementType>(message[0]),
          .reduce = static_cast<ReduceOp>(message[1]),
          .rows = static_cast<size_t>(message[2]),
          .width = static_cast<size_t>(message[3])};
}

std::string shape_text(const SparseShape& shape) {
  const std::string type = known(shape.type) ? std::string(element_name(shape.type)) : "?";
  const std::string reduce = known(shape.reduce) ? std::string(reduce_name(shape.reduce)) : "?";
  return format("{} rows of {} {} with {}", shape.rows, shape.width, type, reduce);
}

std::unique_ptr<std::byte[]> memory_for(const SparseShape& shape, size_t rows) {
  return std::make_unique_for_overwrite<std::byte[]>(rows * shape.row_bytes());
}

}  // namespace

Result<SparseRows> merged_rows(const SparseShape& shape, std::span<const int64_t> indices,
                               const std::byte* values) {
  for (const int64_t index : indices) {
    if (index >= 0 && static_cast<size_t>(index) < shape.rows) continue;
    return fail(Errc::input, format("row {} is not one of the {} rows from 0", index, shape.rows));
  }
  std::vector<size_t> order(indices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t row) { return indices[row]; });
  SparseRows merged{.shape = shape};
  merged.values = memory_for(shape, indices.size());
  const size_t bytes = shape.row_bytes();
  const Reduction reduction{shape.type, shape.reduce};
  for (const size_t row : order) {
    const bool again = !merged.indices.empty() && merged.indices.back() == indices[row];
    if (!again) merged.indices.push_back(indices[row]);
    std::byte* to = merged.values.get() + (merged.indices.size() - 1) * bytes;
    const std::byte* from = values + row * bytes;
    if (again) {
      reduction.apply(to, from, shape.width);
    } else {
      std::memcpy(to, from, bytes);
    }
  }
  return merged;
}

bool is_dense(const SparseRows& rows) {
  return static_cast<double>(rows.indices.size()) >=
         dense_share * static_cast<double>(rows.shape.rows);
}

std::vector<int64_t> row_message(const SparseRows& rows) {
  const SparseShape& shape = rows.shape;
  const bool dense = is_dense(rows);
  std::vector<int64_t> message = {
      static_cast<int64_t>(shape.type), static_cast<int64_t>(shape.reduce),
      static_cast<int64_t>(shape.rows), static_cast<int64_t>(shape.width), dense ? 1 : 0};
  if (!dense) message.insert(message.end(), rows.indices.begin(), rows.indices.end());
  return message;
}

Result<std::optional<std::vector<int64_t>>> united_rows(std::span<const int64_t> messages,
                                                        std::span<const size_t> counts) {
  std::vector<int64_t> all;
  std::optional<SparseShape> first;
  bool dense = false;
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    const std::span<const int64_t> message = messages.first(counts[rank]);
    messages = messages.subspan(counts[rank]);
    if (message.size() < shape_fields)
      return fail(Errc::protocol, format("rank {} has sent no rows", rank));
    const SparseShape shape = shape_in(message);
    if (!first) first = shape;
    if (shape != *first) {
      return fail(Errc::mismatch, format("all_reduce_sparse: rank {} sent {}, rank 0 {}", rank,
                                         shape_text(shape), shape_text(*first)));
    }
    dense = dense || message[4] != 0;
    const std::span<const int64_t> indices = message.subspan(shape_fields);
    all.insert(all.end(), indices.begin(), indices.end());
  }
  if (dense) return std::optional<std::vector<int64_t>>();
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  const auto beyond = [&](int64_t index) {
    return index < 0 || static_cast<size_t>(index) >= first->rows;
  };
  if (std::ranges::any_of(all, beyond))
    return fail(Errc::protocol, "a rank has sent rows that the matrix does not have");
  return std::optional(std::move(all));
}

SparseRows spread_rows(SparseRows own, const std::optional<std::vector<int64_t>>& indices) {
  const SparseShape& shape = own.shape;
  SparseRows spread{.shape = shape, .dense = !indices.has_value()};
  if (indices) {
    spread.indices = *indices;
  } else {
    spread.indices.resize(shape.rows);
    std::iota(spread.indices.begin(), spread.indices.end(), int64_t{0});
  }
  spread.values = memory_for(shape, spread.indices.size());
  const size_t bytes = shape.row_bytes();
  size_t next = 0;  // of the own rows, which are a part of the others
  for (size_t row = 0; row < spread.indices.size(); ++row) {
    std::byte* to = spread.values.get() + row * bytes;
    if (next < own.indices.size() && own.indices[next] == spread.indices[row]) {
      std::memcpy(to, own.values.get() + next++ * bytes, bytes);
    } else {
      fill_identity(shape.type, shape.reduce, to, shape.width);
    }
  }
  return spread;
}

}  // namespace dt

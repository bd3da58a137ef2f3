#include "comm/training/ps/tensor_split.h"

#include "base/format.h"
#include "base/text.h"

#include <cmath>
#include <cstring>

namespace dt {

namespace {

/// The bytes that an array of this tensor has.
uint64_t bytes_of(const PsTensor& tensor) {
  const VariableSpec& variable = *tensor.variable;
  return tensor.sparse ? tensor.rows.size() * variable.row_bytes() : variable.bytes();
}

Result<> check(const PsTensor& tensor, const char* what, size_t bytes) {
  const VariableSpec& variable = *tensor.variable;
  for (const int64_t row : tensor.rows) {
    if (row >= 0 && static_cast<uint64_t>(row) < variable.rows()) continue;
    return fail(Errc::input, format("variable {}: there is no row {}; it has {}",
                                    printable(variable.name), row, variable.rows()));
  }
  if (bytes == bytes_of(tensor)) return {};
  return fail(Errc::input, format("variable {}: {} bytes of {}, expected {}",
                                  printable(variable.name), bytes, what, bytes_of(tensor)));
}

template <class T>
double sum_of_squares(ByteSpan bytes) {
  double sum = 0;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

}  // namespace

TensorSplit::Rows TensorSplit::rows_of(const PsTensor& tensor, const ShardSpec& shard) {
  Rows rows;
  Writer within;
  for (size_t i = 0; i < tensor.rows.size(); ++i) {
    const auto row = static_cast<uint64_t>(tensor.rows[i]);
    if (row < shard.first_row || row >= shard.first_row + shard.rows) continue;
    within.number(static_cast<int64_t>(row - shard.first_row));
    rows.places.push_back(i);
  }
  copies_.push_back(within.take());
  rows.within = copies_.back();
  return rows;
}

Result<> TensorSplit::add_gradient(const PsTensor& tensor) {
  TRY(check(tensor, "gradient", tensor.gradient.size()));
  const size_t row_bytes = tensor.variable->row_bytes();
  for (const PlacedShard& placed : tensor.shards) {
    const ShardSpec& shard = placed.shard;
    ShardGradient gradient{.shard = shard.number, .sparse = tensor.sparse};
    if (!tensor.sparse) {
      gradient.values =
          tensor.gradient.subspan(shard.first_row * row_bytes, shard.rows * row_bytes);
    } else {
      const Rows rows = rows_of(tensor, shard);
      if (rows.places.empty()) continue;
      gradient.rows = rows.within;
      Bytes values(rows.places.size() * row_bytes);
      for (size_t i = 0; i < rows.places.size(); ++i)
        std::memcpy(values.data() + i * row_bytes,
                    tensor.gradient.data() + rows.places[i] * row_bytes, row_bytes);
      copies_.push_back(std::move(values));
      gradient.values = copies_.back();
    }
    parts_[placed.server].gradients.push_back(gradient);
  }
  return {};
}

Result<> TensorSplit::add_pull(const PsTensor& tensor) {
  TRY(check(tensor, "values", tensor.values.size()));
  const size_t row_bytes = tensor.variable->row_bytes();
  for (const PlacedShard& placed : tensor.shards) {
    const ShardSpec& shard = placed.shard;
    Part& part = parts_[placed.server];
    if (!tensor.sparse) {
      part.pulls.push_back({.shard = shard.number});
      part.targets.push_back(
          {tensor.values.subspan(shard.first_row * row_bytes, shard.rows * row_bytes), row_bytes});
      continue;
    }
    Rows rows = rows_of(tensor, shard);
    if (rows.places.empty()) continue;
    part.pulls.push_back({.shard = shard.number, .sparse = true, .rows = rows.within});
    part.targets.push_back({tensor.values, row_bytes, std::move(rows.places)});
  }
  return {};
}

std::optional<std::span<std::byte>> TensorSplit::place(uint32_t server, const PsReplyPlace& at,
                                                       size_t length) {
  Part& part = parts_[server];
  if (at.value >= part.targets.size() || part.pulls[at.value].sparse) return std::nullopt;
  Target& target = part.targets[at.value];
  const bool fits = at.size == target.values.size() && length <= at.size - at.offset;
  if (!fits || at.offset != target.placed) return std::nullopt;
  target.placed += length;
  return target.values.subspan(at.offset, length);
}

void TensorSplit::restart(uint32_t server) {
  for (Target& target : parts_[server].targets)
    target.placed = 0;
}

Result<> TensorSplit::take_values(uint32_t server, const std::vector<ByteSpan>& values) const {
  const Part& part = parts_[server];
  const auto unexpected = [] { return fail(Errc::protocol, "a reply has other values"); };
  if (values.size() != part.targets.size()) return unexpected();
  for (size_t i = 0; i < values.size(); ++i) {
    const Target& target = part.targets[i];
    const bool sparse = part.pulls[i].sparse;
    const size_t expected = sparse ? target.places.size() * target.row_bytes : target.values.size();
    if (values[i].size() != expected) return unexpected();
    if (!sparse && expected > target.placed) {
      std::memcpy(target.values.data() + target.placed, values[i].data() + target.placed,
                  expected - target.placed);
    }
    for (size_t row = 0; row < target.places.size(); ++row)
      std::memcpy(target.values.data() + target.places[row] * target.row_bytes,
                  values[i].data() + row * target.row_bytes, target.row_bytes);
  }
  return {};
}

std::vector<DeclareRequest> split_declaration(const DeclareRequest& common,
                                              std::span<const PsDeclaration> variables,
                                              std::span<const PlacedShard> placed,
                                              uint32_t servers) {
  std::vector<DeclareRequest> requests(servers, common);
  for (const PlacedShard& shard : placed) {
    const PsDeclaration& declared = variables[shard.shard.variable - common.first_variable];
    const size_t row_bytes = declared.variable.row_bytes();
    const ByteSpan initial = !common.initializes || declared.initial.empty()
                                 ? ByteSpan()
                                 : declared.initial.subspan(shard.shard.first_row * row_bytes,
                                                            shard.shard.rows * row_bytes);
    requests[shard.server].shards.push_back({shard.shard, initial});
  }
  return requests;
}

double global_norm(std::span<const PsTensor> tensors) {
  double sum = 0;
  for (const PsTensor& tensor : tensors) {
    const bool wide = tensor.variable->type == ElementType::float64;
    sum += wide ? sum_of_squares<double>(tensor.gradient) : sum_of_squares<float>(tensor.gradient);
  }
  return std::sqrt(sum);
}

}  // namespace dt

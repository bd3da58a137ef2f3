#include "comm/ps/state/shard.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cstring>

namespace dt {

namespace {

template <class T>
T* numbers(Bytes& bytes) {
  return reinterpret_cast<T*>(bytes.data());
}

template <class T>
const T* numbers(ByteSpan bytes) {
  return reinterpret_cast<const T*>(bytes.data());
}

std::vector<int64_t> row_list(ByteSpan rows) {
  std::vector<int64_t> list(rows.size() / sizeof(int64_t));
  if (!list.empty()) std::memcpy(list.data(), rows.data(), rows.size());
  return list;
}

template <class T>
void fill(Bytes& bytes, double value) {
  std::fill_n(numbers<T>(bytes), bytes.size() / sizeof(T), static_cast<T>(value));
}

template <class T>
void add_scaled(T* into, const T* from, size_t count, double scale) {
  const T factor = static_cast<T>(scale);
  for (size_t i = 0; i < count; ++i)
    into[i] += from[i] * factor;
}

}  // namespace

Shard::Shard(const VariableSpec& variable, ShardSpec spec)
    : name_(printable(variable.name)),
      type_(variable.type),
      optimizer_(variable.optimizer),
      row_elements_(variable.row_elements()),
      spec_(spec),
      slots_used_(slot_count(variable.optimizer.kind)) {
  value_.resize(spec.rows * variable.row_bytes());
  for (size_t slot = 0; slot < slots_used_; ++slot) {
    slots_[slot].resize(value_.size());
    const double initial = initial_slot(optimizer_, slot);
    if (type_ == ElementType::float64) {
      fill<double>(slots_[slot], initial);
    } else {
      fill<float>(slots_[slot], initial);
    }
  }
}

void Shard::initialize(ByteSpan values) {
  if (!values.empty()) std::memcpy(value_.data(), values.data(), value_.size());
  initialized_ = true;
}

Result<> Shard::check_rows(bool sparse, ByteSpan rows) const {
  if (!initialized_)
    return fail(Errc::input, format("variable {} has no initial value yet", name_));
  if (!sparse) return {};
  if (rows.size() % sizeof(int64_t) != 0)
    return fail(Errc::input,
                format("variable {}: {} bytes are no list of rows", name_, rows.size()));
  for (const int64_t row : row_list(rows)) {
    if (row >= 0 && static_cast<uint64_t>(row) < spec_.rows) continue;
    return fail(Errc::input, format("variable {}: row {} of the shard does not exist; it has {}",
                                    name_, row, spec_.rows));
  }
  return {};
}

Result<> Shard::check(const ShardGradient& gradient) const {
  TRY(check_rows(gradient.sparse, gradient.rows));
  const uint64_t rows = gradient.sparse ? gradient.rows.size() / sizeof(int64_t) : spec_.rows;
  if (gradient.values.size() == rows * row_bytes()) return {};
  return fail(Errc::input, format("variable {}: a gradient of {} rows has {} bytes, expected {}",
                                  name_, rows, gradient.values.size(), rows * row_bytes()));
}

Result<> Shard::check(const ShardPull& pull) const {
  return check_rows(pull.sparse, pull.rows);
}

GradientSum Shard::sum(std::span<const ShardGradient> gradients,
                       std::span<const double> scales) const {
  return type_ == ElementType::float64 ? sum_as<double>(gradients, scales)
                                       : sum_as<float>(gradients, scales);
}

template <class T>
GradientSum Shard::sum_as(std::span<const ShardGradient> gradients,
                          std::span<const double> scales) const {
  GradientSum total;
  total.dense = std::ranges::any_of(gradients, [](const auto& g) { return !g.sparse; }) ||
                changes_all_rows(optimizer_.kind);
  if (!total.dense) {
    for (const ShardGradient& gradient : gradients)
      std::ranges::copy(row_list(gradient.rows), std::back_inserter(total.rows));
    std::ranges::sort(total.rows);
    const auto twice = std::unique(total.rows.begin(), total.rows.end());
    total.rows.erase(twice, total.rows.end());
  }
  total.values.resize((total.dense ? spec_.rows : total.rows.size()) * row_bytes());
  T* const into = numbers<T>(total.values);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const T* const from = numbers<T>(gradients[i].values);
    if (!gradients[i].sparse) {
      add_scaled(into, from, spec_.rows * row_elements_, scales[i]);
      continue;
    }
    const std::vector<int64_t> rows = row_list(gradients[i].rows);
    for (size_t row = 0; row < rows.size(); ++row) {
      const auto place = total.dense
                             ? static_cast<size_t>(rows[row])
                             : static_cast<size_t>(std::ranges::lower_bound(total.rows, rows[row]) -
                                                   total.rows.begin());
      add_scaled(into + place * row_elements_, from + row * row_elements_, row_elements_,
                 scales[i]);
    }
  }
  return total;
}

void Shard::update(const GradientSum& sum, double learning_rate) {
  if (type_ == ElementType::float64) {
    update_as<double>(sum, learning_rate);
  } else {
    update_as<float>(sum, learning_rate);
  }
}

template <class T>
void Shard::update_as(const GradientSum& sum, double learning_rate) {
  ++updates_;
  OptimizerUpdate<T> update{
      .learning_rate = learning_rate == 0 ? optimizer_.learning_rate : learning_rate,
      .number = updates_};
  const auto apply_at = [&](size_t first, const T* gradient, size_t count) {
    update.value = numbers<T>(value_) + first;
    for (size_t slot = 0; slot < slots_used_; ++slot)
      update.slots[slot] = numbers<T>(slots_[slot]) + first;
    update.gradient = gradient;
    update.count = count;
    apply_optimizer(optimizer_, update);
  };
  const T* const gradient = numbers<T>(ByteSpan(sum.values));
  if (sum.dense) return apply_at(0, gradient, spec_.rows * row_elements_);
  for (size_t i = 0; i < sum.rows.size(); ++i)
    apply_at(static_cast<size_t>(sum.rows[i]) * row_elements_, gradient + i * row_elements_,
             row_elements_);
}

Bytes Shard::rows(ByteSpan rows) const {
  const std::vector<int64_t> list = row_list(rows);
  Bytes copied(list.size() * row_bytes());
  for (size_t i = 0; i < list.size(); ++i)
    std::memcpy(copied.data() + i * row_bytes(),
                value_.data() + static_cast<size_t>(list[i]) * row_bytes(), row_bytes());
  return copied;
}

void Shard::save(Writer& writer) const {
  encode(writer, spec_);
  writer.number(initialized_).number(updates_);
  encode_aligned(writer, value_);
  for (size_t slot = 0; slot < slots_used_; ++slot)
    encode_aligned(writer, slots_[slot]);
}

void Shard::load(Reader& reader, ByteSpan whole) {
  if (decode_shard(reader) != spec_) return reader.refuse();
  initialized_ = reader.number<bool>();
  updates_ = reader.number<uint64_t>();
  const auto read_into = [&](Bytes& bytes) {
    const ByteSpan saved = decode_aligned(reader, whole);
    if (saved.size() != bytes.size()) return reader.refuse();
    if (!saved.empty()) std::memcpy(bytes.data(), saved.data(), saved.size());
  };
  read_into(value_);
  for (size_t slot = 0; slot < slots_used_; ++slot)
    read_into(slots_[slot]);
}

}  // namespace dt

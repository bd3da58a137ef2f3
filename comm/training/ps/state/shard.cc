#include "comm/training/ps/state/shard.h"

#include "base/format.h"
#include "base/text.h"

#include <algorithm>
#include <cstring>

namespace dt {

namespace {

template <class T>
T* numbers(std::span<std::byte> bytes) {
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
void fill(std::span<std::byte> bytes, double value) {
  std::fill_n(numbers<T>(bytes), bytes.size() / sizeof(T), static_cast<T>(value));
}

}  // namespace

Shard::Shard(const VariableSpec& variable, ShardSpec spec)
    : name_(printable(variable.name)),
      type_(variable.type),
      optimizer_(variable.optimizer),
      row_elements_(variable.row_elements()),
      spec_(spec),
      slots_used_(slot_count(variable.optimizer.kind)),
      value_(spec.rows * variable.row_bytes()) {
  for (size_t slot = 0; slot < slots_used_; ++slot) {
    slots_[slot] = CopyOnWriteBytes(value_.size());
    const double initial = initial_slot(optimizer_, slot);
    if (type_ == ElementType::float64) {
      fill<double>(slots_[slot].writable(), initial);
    } else {
      fill<float>(slots_[slot].writable(), initial);
    }
  }
}

/// Computes what an update has left for later.
void Shard::settle() const {
  if (const auto update = update_.lock())
    update->compute_until(value_.view().data() + value_.size());
  update_.reset();
}

Shard::Shared Shard::share() const {
  Shared shared{value_.view(), value_.share(), update_.lock()};
  if (shared.later != nullptr && shared.later->complete()) shared.later.reset();
  return shared;
}

void Shard::initialize(ByteSpan values) {
  settle();
  if (!values.empty()) std::memcpy(value_.writable().data(), values.data(), values.size());
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
  T* const into = numbers<T>(std::span(total.values));
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

void Shard::apply(std::span<const ShardGradient> gradients, std::span<const double> scales,
                  double learning_rate) {
  if (type_ == ElementType::float64) {
    apply_as<double>(gradients, scales, learning_rate);
  } else {
    apply_as<float>(gradients, scales, learning_rate);
  }
}

template <class T>
void Shard::apply_as(std::span<const ShardGradient> gradients, std::span<const double> scales,
                     double learning_rate) {
  if (std::ranges::none_of(gradients, &ShardGradient::sparse)) {
    DenseUpdate<T>(dense_terms<T>(gradients, scales, learning_rate)).compute_all();
    return;
  }
  const GradientSum total = sum_as<T>(gradients, scales);
  const OptimizerUpdate<T> update = next_update<T>(learning_rate);
  const std::span<const T> gradient(numbers<T>(ByteSpan(total.values)),
                                    total.values.size() / sizeof(T));
  if (total.dense) return update_elements(update, 0, gradient);
  for (size_t i = 0; i < total.rows.size(); ++i) {
    update_elements(update, static_cast<size_t>(total.rows[i]) * row_elements_,
                    gradient.subspan(i * row_elements_, row_elements_));
  }
}

template <class T>
DenseUpdateTerms<T> Shard::dense_terms(std::span<const ShardGradient> gradients,
                                       std::span<const double> scales, double learning_rate) {
  DenseUpdateTerms<T> terms{.optimizer = optimizer_,
                            .whole = next_update<T>(learning_rate),
                            .scales = {scales.begin(), scales.end()}};
  terms.whole.count = spec_.rows * row_elements_;
  for (const ShardGradient& gradient : gradients)
    terms.gradients.push_back(numbers<T>(gradient.values));
  return terms;
}

std::shared_ptr<LazyBytes> Shard::apply_later(const ShardGradient& gradient, double scale,
                                              double learning_rate,
                                              std::shared_ptr<const void> owner) {
  std::vector<std::shared_ptr<const void>> owners = {std::move(owner)};
  const auto begin = [&]<class T>(DenseUpdateTerms<T> terms) -> std::shared_ptr<LazyBytes> {
    owners.push_back(value_.share());
    for (size_t slot = 0; slot < slots_used_; ++slot)
      owners.push_back(slots_[slot].share());
    terms.owners = std::move(owners);
    return std::make_shared<DenseUpdate<T>>(std::move(terms));
  };
  const std::span gradients(&gradient, 1);
  const std::span<const double> scales(&scale, 1);
  const auto update = type_ == ElementType::float64
                          ? begin(dense_terms<double>(gradients, scales, learning_rate))
                          : begin(dense_terms<float>(gradients, scales, learning_rate));
  update_ = update;
  return update;
}

template <class T>
OptimizerUpdate<T> Shard::next_update(double learning_rate) {
  settle();
  ++updates_;
  OptimizerUpdate<T> update{
      .learning_rate = learning_rate == 0 ? optimizer_.learning_rate : learning_rate,
      .number = updates_};
  update.value = reinterpret_cast<T*>(value_.writable().data());
  for (size_t slot = 0; slot < slots_used_; ++slot)
    update.slots[slot] = numbers<T>(slots_[slot].writable());
  return update;
}

/// Updates the elements from `first` on, as many as the gradient has.
template <class T>
void Shard::update_elements(OptimizerUpdate<T> update, size_t first, std::span<const T> gradient) {
  update.value += first;
  for (size_t slot = 0; slot < slots_used_; ++slot)
    update.slots[slot] += first;
  update.gradient = gradient.data();
  update.count = gradient.size();
  apply_optimizer(optimizer_, update);
}

Bytes Shard::rows(ByteSpan rows) const {
  settle();
  const std::vector<int64_t> list = row_list(rows);
  Bytes copied(list.size() * row_bytes());
  for (size_t i = 0; i < list.size(); ++i)
    std::memcpy(copied.data() + i * row_bytes(),
                value_.view().data() + static_cast<size_t>(list[i]) * row_bytes(), row_bytes());
  return copied;
}

SavedShard SavedShard::decode(Reader& reader) {
  SavedShard saved{.spec = decode_shard(reader)};
  saved.initialized = reader.number<bool>();
  saved.updates = reader.number<uint64_t>();
  return saved;
}

void Shard::save(Writer& writer) const {
  encode(writer, spec_);
  writer.number(initialized_).number(updates_);
}

std::vector<ByteSpan> Shard::arrays() const {
  settle();
  std::vector<ByteSpan> all = {value_.view()};
  for (size_t slot = 0; slot < slots_used_; ++slot)
    all.push_back(slots_[slot].view());
  return all;
}

Result<> Shard::load(const SavedShard& saved,
                     const std::function<Result<>(std::span<std::byte> array)>& read) {
  settle();
  drop_values();
  TRY(read(value_.writable()));
  for (size_t slot = 0; slot < slots_used_; ++slot)
    TRY(read(slots_[slot].writable()));
  initialized_ = saved.initialized;
  updates_ = saved.updates;
  return {};
}

}  // namespace dt

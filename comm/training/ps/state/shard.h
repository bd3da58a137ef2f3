#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/peer/lazy_bytes.h"
#include "comm/training/ps/state/copy_on_write_bytes.h"
#include "comm/training/ps/state/dense_update.h"
#include "comm/training/ps/state/messages.h"
#include "comm/training/ps/state/variable.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dt {

/// The sum of some gradients of one shard. Rows that occur twice are added, as TensorFlow does.
struct GradientSum {
  Bytes values = {};
  /// Sorted, each once: the rows of `values`. Not of a dense sum, which has all of them.
  std::vector<int64_t> rows = {};
  bool dense = false;
};

/// A shard that was saved, without its arrays.
struct SavedShard {
  ShardSpec spec = {};
  bool initialized = false;
  uint64_t updates = 0;

  static SavedShard decode(Reader& reader);
};

/// The values of a shard and the numbers that its optimiser keeps.
///
/// A dense gradient may change them later, element by element, as somebody reads them. Only the
/// sender of a reply sees a shard in which a part is changed: see share().
class Shard {
 public:
  Shard(const VariableSpec& variable, ShardSpec spec);

  const ShardSpec& spec() const { return spec_; }
  /// The size of the values and slots.
  uint64_t bytes() const { return value_.size() * (1 + slots_used_); }
  static uint64_t bytes_of(const VariableSpec& variable, uint64_t rows) {
    return rows * variable.row_bytes() * (1 + slot_count(variable.optimizer.kind));
  }
  bool initialized() const { return initialized_; }
  /// Requires as many bytes as the values have; empty: zeros.
  void initialize(ByteSpan values);
  void drop_values() { initialized_ = false; }

  /// Fail with Errc::input when the bytes are not those of the rows, or a row is not here.
  Result<> check(const ShardGradient& gradient) const;
  Result<> check(const ShardPull& pull) const;
  /// Changes the values by the sum of the gradients, each multiplied by its scale. Requires that
  /// all pass check(). `learning_rate` 0: that of the variable.
  void apply(std::span<const ShardGradient> gradients, std::span<const double> scales,
             double learning_rate);
  /// Does the same for one dense gradient, which `owner` keeps. The values change as they are read,
  /// and at the latest when the result ends.
  std::shared_ptr<LazyBytes> apply_later(const ShardGradient& gradient, double scale,
                                         double learning_rate, std::shared_ptr<const void> owner);
  /// Adds the gradients, each multiplied by its scale. Requires that all pass check().
  GradientSum sum(std::span<const ShardGradient> gradients, std::span<const double> scales) const;

  /// The values as they are now, whatever happens to the shard later.
  struct Shared {
    ByteSpan bytes;
    std::shared_ptr<const void> owner;
    std::shared_ptr<LazyBytes> later;  ///< computes `bytes`; null: they are there
  };
  Shared share() const;
  /// Copies the rows of a sparse pull.
  Bytes rows(ByteSpan rows) const;

  /// Appends the state but for the arrays: of equal states, the same bytes.
  void save(Writer& writer) const;
  /// Returns the values and the slots.
  std::vector<ByteSpan> arrays() const;
  /// Replaces the state by what save() wrote of an equal shard. `read` fills one array after the
  /// other. If it fails, the shard has no values.
  Result<> load(const SavedShard& saved,
                const std::function<Result<>(std::span<std::byte> array)>& read);

 private:
  Result<> check_rows(bool sparse, ByteSpan rows) const;
  void settle() const;
  uint64_t row_bytes() const { return row_elements_ * element_bytes(type_); }
  template <class T>
  GradientSum sum_as(std::span<const ShardGradient> gradients,
                     std::span<const double> scales) const;
  template <class T>
  OptimizerUpdate<T> next_update(double learning_rate);
  template <class T>
  void update_elements(OptimizerUpdate<T> update, size_t first, std::span<const T> gradient);
  template <class T>
  void apply_as(std::span<const ShardGradient> gradients, std::span<const double> scales,
                double learning_rate);
  template <class T>
  DenseUpdateTerms<T> dense_terms(std::span<const ShardGradient> gradients,
                                  std::span<const double> scales, double learning_rate);

  std::string name_;  ///< for messages
  ElementType type_;
  OptimizerSettings optimizer_;
  uint64_t row_elements_;
  ShardSpec spec_;
  bool initialized_ = false;
  uint64_t updates_ = 0;
  size_t slots_used_;
  CopyOnWriteBytes value_;
  std::array<CopyOnWriteBytes, slots_max> slots_;
  mutable std::weak_ptr<LazyBytes> update_ = {};  ///< of `value_`, which may be complete
};

}  // namespace dt

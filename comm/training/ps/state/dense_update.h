#pragma once

#include "comm/peer/lazy_bytes.h"
#include "comm/training/ps/state/optimizer.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace dt {

template <class T>
void add_scaled(T* into, const T* from, size_t count, double scale) {
  const T factor = static_cast<T>(scale);
  for (size_t i = 0; i < count; ++i)
    into[i] += from[i] * factor;
}

/// The sum of dense gradients, each multiplied by its scale, and the numbers that it changes.
template <class T>
struct DenseUpdateTerms {
  OptimizerSettings optimizer = {};
  OptimizerUpdate<T> whole = {};  ///< of all elements; its gradient is not used
  std::vector<const T*> gradients = {};
  std::vector<double> scales = {};
  /// Keep the arrays above until the end. None: the caller keeps them.
  std::vector<std::shared_ptr<const void>> owners = {};
};

/// A change of a shard. Its LazyBytes are the values: each element depends on its own gradients
/// alone. The destructor computes the rest. T is float or double.
template <class T>
class DenseUpdate final : public LazyBytes {
 public:
  explicit DenseUpdate(DenseUpdateTerms<T> terms) : terms_(std::move(terms)) {}
  DenseUpdate(const DenseUpdate&) = delete;
  DenseUpdate& operator=(const DenseUpdate&) = delete;
  ~DenseUpdate() override { compute_all(); }

  void compute_until(const std::byte* end) override;
  bool complete() const override { return next_ == terms_.whole.count; }
  void compute_all() { compute_elements(terms_.whole.count); }

 private:
  /// In the innermost cache, together with as many values.
  static constexpr size_t block_elements = 2048;

  void compute_elements(size_t end);
  void compute_block(size_t size);

  DenseUpdateTerms<T> terms_;
  size_t next_ = 0;  ///< the elements before it are computed
};

}  // namespace dt

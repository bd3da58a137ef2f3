#include "comm/training/ps/state/dense_update.h"

#include <algorithm>
#include <array>

namespace dt {

template <class T>
void DenseUpdate<T>::compute_until(const std::byte* end) {
  const auto* const values = reinterpret_cast<const std::byte*>(terms_.whole.value);
  compute_elements((static_cast<size_t>(end - values) + sizeof(T) - 1) / sizeof(T));
}

template <class T>
void DenseUpdate<T>::compute_elements(size_t end) {
  while (next_ < end) {
    const size_t size = std::min(block_elements, end - next_);
    compute_block(size);
    next_ += size;
  }
  // Another update copies what this one keeps.
  if (complete()) terms_.owners.clear();
}

template <class T>
void DenseUpdate<T>::compute_block(size_t size) {
  OptimizerUpdate<T> update = terms_.whole;
  update.value += next_;
  for (T*& slot : update.slots)
    if (slot != nullptr) slot += next_;
  update.count = size;
  update.gradient = terms_.gradients[0] + next_;
  std::array<T, block_elements> sum;
  // A single gradient is used where it lies.
  if (terms_.gradients.size() > 1 || terms_.scales[0] != 1) {
    std::fill_n(sum.begin(), size, T(0));
    for (size_t i = 0; i < terms_.gradients.size(); ++i)
      add_scaled(sum.data(), terms_.gradients[i] + next_, size, terms_.scales[i]);
    update.gradient = sum.data();
  }
  apply_optimizer(terms_.optimizer, update);
}

template class DenseUpdate<float>;
template class DenseUpdate<double>;

}  // namespace dt

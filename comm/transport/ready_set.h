#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt {

/// A set of indices below a fixed size. Any thread may change it. A walk costs what the set holds,
/// and one load for 64 indices that it does not hold.
class ReadySet {
 public:
  explicit ReadySet(size_t size) : words_((size + bits - 1) / bits) {}

  void add(size_t index) { word(index).fetch_or(bit(index), std::memory_order_seq_cst); }
  void remove(size_t index) { word(index).fetch_and(~bit(index), std::memory_order_seq_cst); }

  /// Calls visit(index) for each index, in ascending order. It may add and remove indices.
  template <class Visit>
  void for_each(Visit visit) {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t rest = words_[w].load(std::memory_order_acquire); rest != 0; rest &= rest - 1)
        visit(w * bits + static_cast<size_t>(std::countr_zero(rest)));
    }
  }

 private:
  static constexpr size_t bits = 64;
  static uint64_t bit(size_t index) { return uint64_t{1} << (index % bits); }
  std::atomic<uint64_t>& word(size_t index) { return words_[index / bits]; }

  std::vector<std::atomic<uint64_t>> words_;
};

}  // namespace dt

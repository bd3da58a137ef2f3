#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace dt {

/// A queue in one vector. A deque allocates and frees blocks while its length stays the same. This
/// queue allocates only when it becomes longer than ever before. Requires that T() owns nothing.
template <class T>
class VectorQueue {
 public:
  bool empty() const { return first_ == items_.size(); }
  size_t size() const { return items_.size() - first_; }
  T& front() { return items_[first_]; }
  const T& front() const { return items_[first_]; }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  auto begin() { return items_.begin() + offset(); }
  auto begin() const { return items_.begin() + offset(); }
  auto end() { return items_.end(); }
  auto end() const { return items_.end(); }

  void push_back(T item) {
    // As many items have left as now move, so a push costs constant time on average.
    if (items_.size() == items_.capacity() && first_ > 0 && first_ >= size()) compact();
    items_.push_back(std::move(item));
  }
  void pop_front() {
    items_[first_] = T();
    ++first_;
    if (empty()) clear();
  }
  void pop_back() {
    items_.pop_back();
    if (empty()) clear();
  }
  /// Removes the item at `place`, an iterator of this queue.
  void erase(typename std::vector<T>::iterator place) {
    items_.erase(place);
    if (empty()) clear();
  }
  void clear() {
    items_.clear();
    first_ = 0;
  }
  /// Removes the items for which `predicate` is true, and returns their number. Calls it once for
  /// each item, from the front to the back.
  template <class Predicate>
  size_t erase_if(Predicate predicate) {
    compact();
    return std::erase_if(items_, predicate);
  }

 private:
  std::ptrdiff_t offset() const { return static_cast<std::ptrdiff_t>(first_); }
  void compact() {
    items_.erase(items_.begin(), items_.begin() + offset());
    first_ = 0;
  }

  std::vector<T> items_;
  size_t first_ = 0;  ///< those before have left
};

}  // namespace dt

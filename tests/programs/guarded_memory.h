#pragma once

#include "base/bytes.h"

#include <algorithm>

namespace dt {

/// Memory of a call, aligned to its element and to nothing larger. Bytes before and behind it show
/// whether something was written there.
class GuardedMemory {
 public:
  GuardedMemory(size_t elements, size_t element_bytes)
      : size_(elements * element_bytes), memory_(size_ + 2 * guard_bytes, guard) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    begin_ = 64 - address % 64 + element_bytes;
  }

  std::byte* data() { return memory_.data() + begin_; }
  ByteSpan bytes() const { return ByteSpan(memory_).subspan(begin_, size_); }
  /// True when all bytes around the elements are as they were.
  bool guards_hold() const {
    const auto is_guard = [](std::byte byte) { return byte == guard; };
    return std::all_of(memory_.begin(), at(begin_), is_guard) &&
           std::all_of(at(begin_ + size_), memory_.end(), is_guard);
  }
  /// True when the elements were never written, either.
  bool untouched() const {
    return std::ranges::all_of(memory_, [](std::byte byte) { return byte == guard; });
  }

 private:
  static constexpr std::byte guard{0xA5};
  static constexpr size_t guard_bytes = 128;
  Bytes::const_iterator at(size_t index) const {
    return memory_.begin() + static_cast<std::ptrdiff_t>(index);
  }

  size_t size_;
  Bytes memory_;
  size_t begin_ = 0;
};

}  // namespace dt

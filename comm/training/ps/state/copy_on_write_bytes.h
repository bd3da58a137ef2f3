#pragma once

#include "base/bytes.h"
#include "comm/memory/large_bytes.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace dt {

/// The values of a variable or of a slot, which replies refer to until they are sent. A change
/// leaves those replies as they are: it then happens in a copy. For one thread.
class CopyOnWriteBytes {
 public:
  explicit CopyOnWriteBytes(size_t size = 0)
      : bytes_(std::make_shared<Bytes>(make_large_bytes(size))) {}

  size_t size() const { return bytes_->size(); }
  ByteSpan view() const { return *bytes_; }
  /// Keeps the bytes of view() as they are now.
  std::shared_ptr<const void> share() const { return bytes_; }
  /// Invalidates earlier results of view() that share() does not keep.
  std::span<std::byte> writable() {
    if (bytes_.use_count() > 1) change_place();
    return *bytes_;
  }

 private:
  /// Copies into the memory of the copy before, if no reply refers to it any more.
  void change_place() {
    const bool free = spare_ != nullptr && spare_.use_count() == 1;
    if (!free) {
      spare_ = std::make_shared<Bytes>(copy_to_large_bytes(*bytes_));
    } else if (!bytes_->empty()) {
      std::memcpy(spare_->data(), bytes_->data(), bytes_->size());
    }
    std::swap(bytes_, spare_);
  }

  std::shared_ptr<Bytes> bytes_;
  std::shared_ptr<Bytes> spare_;
};

}  // namespace dt

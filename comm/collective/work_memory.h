#pragma once

#include <cstddef>
#include <memory>

namespace dt {

/// Memory for the intermediate results of operations. It is not set to zero, and it is kept for the
/// next operation unless it is large.
class WorkMemory {
 public:
  static constexpr size_t kept_bytes_max = 64 << 20;

  /// Returns memory of at least this size, aligned for every element type. The
  /// memory of earlier calls is no longer valid.
  std::byte* reserve(size_t bytes) {
    if (bytes > bytes_) {
      release();
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ = bytes;
    }
    return memory_.get();
  }
  /// Called when an operation has ended.
  void trim() {
    if (bytes_ > kept_bytes_max) release();
  }
  void release() {
    memory_.reset();
    bytes_ = 0;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t bytes_ = 0;
};

}  // namespace dt

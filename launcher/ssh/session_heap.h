#pragma once

#include <cstddef>
#include <unordered_map>

namespace dt {

/// The memory that a C library allocates for one session: `bytes_max` at most. The destructor frees
/// all of it, leaks included (libssh2 1.10 leaks when a key exchange is repeated or interrupted).
class SessionHeap {
 public:
  explicit SessionHeap(size_t bytes_max) : bytes_max_(bytes_max) {}
  SessionHeap(const SessionHeap&) = delete;
  SessionHeap& operator=(const SessionHeap&) = delete;
  ~SessionHeap();

  /// Like malloc, realloc and free. Returns null when `bytes_max` would be exceeded.
  void* allocate(size_t size);
  void* resize(void* block, size_t size);
  void release(void* block);
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_max_;
  size_t bytes_ = 0;
  std::unordered_map<void*, size_t> blocks_;
};

}  // namespace dt

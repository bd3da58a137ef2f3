#pragma once

#include <cstddef>
#include <unordered_map>

namespace dt {

/// What a C library allocates for one session: at most `bytes_max` at once, and all gone with this
/// object, also what the library forgets (libssh2 1.10 leaks when a key exchange is repeated or cut
/// short).
class SessionHeap {
 public:
  explicit SessionHeap(size_t bytes_max) : bytes_max_(bytes_max) {}
  SessionHeap(const SessionHeap&) = delete;
  SessionHeap& operator=(const SessionHeap&) = delete;
  ~SessionHeap();

  /// Null when there is no room, as malloc, realloc and free do it.
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

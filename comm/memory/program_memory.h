#pragma once

#include "base/result.h"
#include "comm/memory/shared_heap.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace dt {

/// The memory that a program has allocated for its buffers. It lies in the heap of the host where
/// there is one, else it is ordinary memory. Any thread may call any function.
class ProgramMemory {
 public:
  /// `heap` may be null.
  explicit ProgramMemory(std::shared_ptr<SharedHeap> heap) : heap_(std::move(heap)) {}
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;
  ~ProgramMemory();

  /// Returns zeroed memory that begins at a page. Fails with Errc::os when memory is short.
  Result<void*> allocate(size_t bytes);
  /// Fails with Errc::input when no allocation begins there.
  Result<> free(void* memory);
  void free_all();

 private:
  Result<void*> allocate_private(size_t bytes);

  std::shared_ptr<SharedHeap> heap_;
  std::mutex mutex_;
  std::map<void*, size_t> private_;  ///< bytes by begin
};

}  // namespace dt

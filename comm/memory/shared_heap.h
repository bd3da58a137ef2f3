#pragma once

#include "base/result.h"
#include "comm/memory/available_memory.h"
#include "comm/memory/range_list.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace dt {

/// Memory for a program's buffers that the other tasks of its host can read. Each task has a part
/// of one file, and allocates in its own part only. A place in the file has the same pages in all
/// tasks, whatever was freed and allocated there meanwhile. So a task maps all parts once, those of
/// others to be read only. A place is valid as long as its owner keeps it.
///
/// Parts are large and sparse: an allocated range has memory, the rest only addresses. Any thread
/// may call any function.
class SharedHeap {
 public:
  struct File {
    int fd = -1;
    uint64_t begin = 0;     ///< of the first part, at a huge page
    size_t part_bytes = 0;  ///< of each part, whole huge pages
    int parts = 0;
  };
  /// `owner` keeps the descriptor open.
  SharedHeap(
      std::shared_ptr<void> owner, const File& file, int own_part,
      AvailableMemory available = [] { return available_memory(); });
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;
  /// Frees what is allocated.
  ~SharedHeap();

  /// Returns zeroed memory that begins at a page. All of it exists, so no later access can fail
  /// because memory is short. Fails with Errc::os when memory is short. Fails with
  /// Errc::unsupported when the process cannot map the parts.
  Result<void*> allocate(size_t bytes);
  /// Returns false when no allocation begins there.
  bool free(void* memory);
  void free_all();

  /// True once this task can read all parts, which the first allocation causes.
  bool readable() const { return base() != nullptr; }
  /// Returns where these bytes lie in the file; none when they are not in this task's part.
  std::optional<uint64_t> place_of(const void* begin, size_t bytes) const;
  /// Returns the bytes at a place of any task. Requires readable(). Null when they are not in the
  /// heap.
  const std::byte* at(uint64_t place, size_t bytes) const;

 private:
  std::byte* base() const { return base_.load(std::memory_order_acquire); }
  std::byte* own_begin() const;
  uint64_t file_offset(size_t in_part) const;
  Result<> map();
  Result<> back(RangeList::Range range);
  void drop(RangeList::Range range);

  std::shared_ptr<void> owner_;
  File file_;
  AvailableMemory available_;
  size_t own_at_;  ///< of this task's part, from the first part's begin
  std::mutex mutex_;
  RangeList ranges_;
  std::atomic<std::byte*> base_ = nullptr;  ///< of the first part; null until the first allocation
};

}  // namespace dt

#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/memory/area_pool.h"
#include "comm/memory/available_memory.h"
#include "comm/memory/shared_heap.h"
#include "comm/transport/shm_link.h"
#include "comm/transport/shm_ring.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace dt {

/// The memory that the tasks of one host share: a ring for each ordered pair of slots, a sleep flag
/// for each slot, and two SharedAreas with all slots. A slot is a task's index among the host's
/// tasks. Behind the areas, the file has sparse parts for each slot: those of an AreaPool, and one
/// of a SharedHeap. The memory is an unnamed memfd with sealed size, which no peer can shrink, and
/// which the kernel frees with its last process.
class ShmSegment {
 public:
  /// Allocates all of it, so that no later access can fail because memory is short. Fails with
  /// Errc::os when less is available.
  static Result<std::shared_ptr<ShmSegment>> create(
      int slots, const AvailableMemory& available = [] { return available_memory(); });
  /// Maps the memory of another task. Fails with Errc::protocol when its size or seals differ from
  /// those of create().
  static Result<std::shared_ptr<ShmSegment>> open(Fd memory, int slots);
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;
  ~ShmSegment();

  int fd() const { return memory_.get(); }
  /// 1 while the task with that slot waits on its doorbell.
  std::atomic<uint32_t>& asleep(int slot) const;
  struct Pair {
    int from = 0;
    int to = 0;
  };
  RingControl& control(Pair pair) const;
  std::span<std::byte> data(Pair pair) const;
  /// The rings of a ShmLink, for the task with the slot `pair.from`. They keep the segment.
  static ShmRings rings(const std::shared_ptr<ShmSegment>& segment, Pair pair);

  /// The memory for collectives without a name, and for named ones; zero at first.
  enum class Area : uint8_t { unnamed, named };
  std::span<std::byte> area(Area area) const;

  /// The memory of an AreaPool, and its tickets. Null when a limit of this process, or of the
  /// host's lowest task, excludes it.
  std::byte* pool() const { return pool_; }
  std::span<AreaPool::Tickets> tickets() const;
  /// Allocates these bytes of the pool; false when memory is short.
  bool back_pool(size_t begin, size_t bytes) const;

  /// Returns where the file has the parts of a SharedHeap. They are empty when a limit of this
  /// host's lowest task excludes large files (RLIMIT_FSIZE).
  SharedHeap::File heap_file() const;

  /// The size of each ring: a power of two, at most 256 KiB, less when there are many slots.
  static size_t ring_bytes(int slots);

 private:
  ShmSegment(Fd memory, std::byte* base, int slots, size_t heap_part_bytes);
  /// The sparse parts of the file.
  struct Sparse {
    bool has_pool = false;
    size_t heap_part_bytes = 0;
  };
  static Result<std::shared_ptr<ShmSegment>> map(Fd memory, int slots, Sparse sparse);
  void map_pool();
  size_t ring_index(Pair pair) const;

  Fd memory_;
  std::byte* base_;
  std::byte* pool_ = nullptr;
  int slots_;
  size_t heap_part_bytes_;
};

}  // namespace dt

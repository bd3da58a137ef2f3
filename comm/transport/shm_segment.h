#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/transport/shm_ring.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace dt {

/// The memory that the tasks of one host share: a ring for each ordered pair of slots and a sleep
/// flag for each slot; a slot is a task's place among the host's tasks. It is an unnamed memfd with
/// sealed size: the kernel frees it with its last process, and nobody can shrink it under us.
class ShmSegment {
 public:
  /// Allocates it all, so that no later access can fail for want of memory.
  static Result<std::shared_ptr<ShmSegment>> create(int slots);
  /// Maps another task's; refuses one whose size or seals are not what create() makes.
  static Result<std::shared_ptr<ShmSegment>> open(Fd memory, int slots);
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;
  ~ShmSegment();

  int fd() const { return memory_.get(); }
  /// 1 while the slot's task waits on its doorbell.
  std::atomic<uint32_t>& asleep(int slot) const;
  struct Pair {
    int from = 0;
    int to = 0;
  };
  RingControl& control(Pair pair) const;
  std::span<std::byte> data(Pair pair) const;

  /// Of each ring: a power of two, at most 256 KiB, less where many slots would need too much.
  static size_t ring_bytes(int slots);

 private:
  ShmSegment(Fd memory, std::byte* base, int slots);
  static Result<std::shared_ptr<ShmSegment>> map(Fd memory, int slots);
  size_t ring_index(Pair pair) const;

  Fd memory_;
  std::byte* base_;
  int slots_;
};

}  // namespace dt

#pragma once

#include "base/io/fd.h"
#include "base/result.h"
#include "comm/memory/available_memory.h"
#include "comm/transport/shm_link.h"
#include "comm/transport/shm_ring.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace dt {

/// The memory of one connection between two tasks of a host. It has a ring each way, and a sleep
/// flag of each task. Tasks that have no part in the host's ShmSegment use it.
class PairMemory {
 public:
  enum class Side : uint8_t { dialer, acceptor };

  /// Allocates all of it. Fails with Errc::os when less is available.
  static Result<std::shared_ptr<PairMemory>> create(const AvailableMemory& available = [] {
    return available_memory();
  });
  /// Maps the memory of the other task. Fails with Errc::protocol when its size or seals differ
  /// from those of create().
  static Result<std::shared_ptr<PairMemory>> open(const Fd& memory);
  PairMemory(const PairMemory&) = delete;
  PairMemory& operator=(const PairMemory&) = delete;
  ~PairMemory();

  /// Only of create(). The other task needs it until it has opened the memory.
  int fd() const { return memory_.get(); }
  void close_fd() { memory_.reset(); }
  /// 1 while that task waits on its doorbell.
  std::atomic<uint32_t>& asleep(Side side) const;
  /// The two rings, as that task uses them. They keep the memory.
  static ShmRings rings(const std::shared_ptr<PairMemory>& memory, Side side);

  static constexpr size_t ring_bytes = size_t{256} << 10;

 private:
  struct Layout;
  PairMemory(Fd memory, std::byte* base);
  static Result<std::shared_ptr<PairMemory>> map(Fd memory, int fd);

  Fd memory_;
  Layout* layout_;
};

}  // namespace dt

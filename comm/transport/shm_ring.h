#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "comm/memory/shared_line.h"

#include <atomic>
#include <cstdint>
#include <span>

namespace dt {

/// The two positions of a ring, in shared memory. They only grow; position modulo capacity is the
/// offset in the data. Zeroed memory is an empty ring.
struct RingControl {
  alignas(shared_line_bytes) std::atomic<uint64_t> written;  ///< stored by the writer only
  alignas(shared_line_bytes) std::atomic<uint64_t> read;     ///< stored by the reader only
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "a lock would not work across processes");

// Memory ordering. The release half of storing a position publishes the bytes (or the room) before
// it. The acquire half of loading the other's position makes them visible.
// Release and acquire alone would lose wake-ups, so all are sequentially consistent. The writer
// stores `written`, then loads the reader's sleep flag. The reader stores its sleep flag, then
// loads `written`. Only a single order of all four excludes that both miss the other's store.
// The same holds for `read` and a writer that sleeps because the ring is full.

/// The sending end. Each end checks the other's position before it uses it, and keeps its own in
/// private memory. A corrupt peer thus cannot cause an access outside the ring.
class RingWriter {
 public:
  /// Requires that the size of `data` is a power of two.
  RingWriter(RingControl& control, std::span<std::byte> data);
  /// Copies as much as has room. Fails with Errc::protocol when the reader's position is
  /// impossible.
  Result<size_t> write(ByteSpan bytes);

 private:
  RingControl& control_;
  std::span<std::byte> data_;
  uint64_t written_ = 0;
};

/// The receiving end.
class RingReader {
 public:
  RingReader(RingControl& control, std::span<const std::byte> data);
  /// Copies as much as is there. Fails with Errc::protocol when the writer's position is
  /// impossible.
  Result<size_t> read(std::span<std::byte> into);
  /// True when the last read() made room in a ring that the writer may have found full. The writer
  /// may then sleep and needs a wake-up.
  bool made_room() const { return made_room_; }

 private:
  RingControl& control_;
  std::span<const std::byte> data_;
  uint64_t read_ = 0;
  bool made_room_ = false;
};

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "base/result.h"

#include <atomic>
#include <cstdint>
#include <span>

namespace dt {

/// How far apart values lie that different processes write: two lines, because processors fetch
/// lines in pairs.
inline constexpr size_t shared_line_bytes = 128;

/// The two positions of a ring, in shared memory. They only grow; position modulo capacity is the
/// place in the data. Zeroed memory is an empty ring.
struct RingControl {
  alignas(shared_line_bytes) std::atomic<uint64_t> written;  ///< stored by the writer only
  alignas(shared_line_bytes) std::atomic<uint64_t> read;     ///< stored by the reader only
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "a lock would not work across processes");

// Memory ordering. The release half of storing a position publishes the bytes (or the room) before
// it, the acquire half of loading the other's position makes them visible. The stores and loads are
// sequentially consistent, not only release and acquire, because of sleeping: the writer stores
// `written` and then loads the reader's sleep flag, the reader stores its sleep flag and then loads
// `written`. Only a single order of all four excludes that both miss the other's store, which would
// be a lost wake-up. The same holds for `read` and a writer that sleeps because the ring is full.

/// The sending end. Neither end believes the other's position before it has checked it, and keeps
/// its own position in private memory, so a corrupt peer cannot make it touch memory outside.
class RingWriter {
 public:
  /// `data` has a power of two of bytes.
  RingWriter(RingControl& control, std::span<std::byte> data);
  /// Copies as much as has room. Errc::protocol: the reader's position is impossible.
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
  /// Copies as much as is there. Errc::protocol: the writer's position is impossible.
  Result<size_t> read(std::span<std::byte> into);
  /// Whether the last read() made room in a ring that its writer may have found full, so that it
  /// may sleep until it is told.
  bool made_room() const { return made_room_; }

 private:
  RingControl& control_;
  std::span<const std::byte> data_;
  uint64_t read_ = 0;
  bool made_room_ = false;
};

}  // namespace dt

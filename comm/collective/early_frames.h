#pragma once

#include "base/bytes.h"
#include "base/vector_queue.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dt {

/// Data frames that came before their steps, by sender in the order of arrival. The sender is some
/// steps ahead of this rank, or has begun the next collective. Memory of small frames is used
/// again.
class EarlyFrames {
 public:
  explicit EarlyFrames(size_t senders) : senders_(senders) {}

  /// Returns memory for a frame that arrives now.
  std::span<std::byte> hold(int sender, uint32_t stream, size_t bytes);
  /// The frame in arrival of that sender is there. Returns false if none is in arrival.
  bool complete(int sender);
  /// True when the oldest frame of the sender is of that stream. Frames of the next stream come
  /// behind it.
  bool has(int sender, uint32_t stream) const;
  /// Returns what is left of that oldest frame; none if it is not there or not complete.
  std::optional<ByteSpan> next(int sender, uint32_t stream) const;
  /// Those bytes of next() are used.
  void use(int sender, size_t bytes);
  size_t held_bytes(int sender, uint32_t stream) const;
  /// Returns the stream of some frame; none if there is no frame.
  std::optional<uint32_t> any_stream() const;
  void drop(uint32_t stream);
  /// Frees the memory that is not in use.
  void trim() { std::vector<Bytes>().swap(spare_); }

 private:
  /// A frame, or what is left of it.
  struct Frame {
    uint32_t stream = 0;
    Bytes bytes;
    size_t used = 0;
    bool complete = false;
  };
  using Frames = VectorQueue<Frame>;

  Frames& of(int sender) { return senders_[static_cast<size_t>(sender)]; }
  const Frames& of(int sender) const { return senders_[static_cast<size_t>(sender)]; }

  std::vector<Frames> senders_;
  std::vector<Bytes> spare_;
};

}  // namespace dt

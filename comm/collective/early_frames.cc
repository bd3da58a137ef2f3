#include "comm/collective/early_frames.h"

#include <utility>

namespace dt {

namespace {

/// The memory of frames up to this size is used again.
constexpr size_t spare_bytes_max = size_t{16} << 10;

}  // namespace

std::span<std::byte> EarlyFrames::hold(int sender, uint32_t stream, size_t bytes) {
  Bytes memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  }
  memory.resize(bytes);
  of(sender).push_back({.stream = stream, .bytes = std::move(memory)});
  return of(sender).back().bytes;
}

bool EarlyFrames::complete(int sender) {
  Frames& frames = of(sender);
  if (frames.empty() || frames.back().complete) return false;
  frames.back().complete = true;
  return true;
}

bool EarlyFrames::has(int sender, uint32_t stream) const {
  const Frames& frames = of(sender);
  return !frames.empty() && frames.front().stream == stream;
}

std::optional<ByteSpan> EarlyFrames::next(int sender, uint32_t stream) const {
  if (!has(sender, stream) || !of(sender).front().complete) return std::nullopt;
  const Frame& frame = of(sender).front();
  return ByteSpan(frame.bytes).subspan(frame.used);
}

void EarlyFrames::use(int sender, size_t bytes) {
  Frame& frame = of(sender).front();
  frame.used += bytes;
  if (frame.used < frame.bytes.size()) return;
  if (frame.bytes.capacity() <= spare_bytes_max && spare_.size() < senders_.size())
    spare_.push_back(std::move(frame.bytes));
  of(sender).pop_front();
}

size_t EarlyFrames::held_bytes(int sender, uint32_t stream) const {
  size_t held = 0;
  for (const Frame& frame : of(sender))
    if (frame.stream == stream) held += frame.bytes.size() - frame.used;
  return held;
}

std::optional<uint32_t> EarlyFrames::any_stream() const {
  for (const Frames& frames : senders_)
    if (!frames.empty()) return frames.back().stream;
  return std::nullopt;
}

void EarlyFrames::drop(uint32_t stream) {
  for (Frames& frames : senders_)
    frames.erase_if([&](const Frame& frame) { return frame.stream == stream; });
}

}  // namespace dt

#include "comm/transport/shm_ring.h"

#include "base/format.h"
#include "base/kernels/copy.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace dt {

RingWriter::RingWriter(RingControl& control, std::span<std::byte> data)
    : control_(control), data_(data) {
  assert(std::has_single_bit(data.size()));
}

Result<size_t> RingWriter::write(ByteSpan bytes) {
  const uint64_t used = written_ - control_.read.load(std::memory_order_seq_cst);
  if (used > data_.size()) {
    return fail(Errc::protocol,
                format("shared memory is corrupt: {} bytes in a ring of {}", used, data_.size()));
  }
  const size_t n = std::min(bytes.size(), data_.size() - static_cast<size_t>(used));
  if (n == 0) return n;
  const size_t at = static_cast<size_t>(written_) & (data_.size() - 1);
  const size_t to_end = std::min(n, data_.size() - at);
  copy_array(data_.data() + at, bytes.data(), to_end);
  copy_array(data_.data(), bytes.data() + to_end, n - to_end);
  written_ += n;
  control_.written.store(written_, std::memory_order_seq_cst);
  return n;
}

RingReader::RingReader(RingControl& control, std::span<const std::byte> data)
    : control_(control), data_(data) {
  assert(std::has_single_bit(data.size()));
}

Result<size_t> RingReader::read(std::span<std::byte> into) {
  made_room_ = false;
  const uint64_t there = control_.written.load(std::memory_order_seq_cst) - read_;
  if (there > data_.size()) {
    return fail(Errc::protocol,
                format("shared memory is corrupt: {} bytes in a ring of {}", there, data_.size()));
  }
  const size_t n = std::min(into.size(), static_cast<size_t>(there));
  if (n == 0) return n;
  const size_t at = static_cast<size_t>(read_) & (data_.size() - 1);
  const size_t to_end = std::min(n, data_.size() - at);
  copy_array(into.data(), data_.data() + at, to_end);
  copy_array(into.data() + to_end, data_.data(), n - to_end);
  const uint64_t before = read_;
  read_ += n;
  control_.read.store(read_, std::memory_order_seq_cst);
  // This load must follow the store of `read`. A writer that found the ring full checks once more
  // before it sleeps. Either that check sees the room, or this load sees the writer's position.
  made_room_ = control_.written.load(std::memory_order_seq_cst) - before >= data_.size();
  return n;
}

}  // namespace dt

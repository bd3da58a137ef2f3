#include "launcher/protocol/stream_credit.h"

#include "base/format.h"

#include <cassert>

namespace dt {

void StreamCredit::sent(size_t bytes) {
  assert(bytes <= room_);
  room_ -= static_cast<uint32_t>(bytes);
}

Result<> StreamCredit::granted(uint32_t bytes) {
  if (bytes > stream_window_bytes - room_) {
    return fail(Errc::protocol, format("credit for {} bytes of which only {} were sent", bytes,
                                       stream_window_bytes - room_));
  }
  room_ += bytes;
  return {};
}

Result<> StreamCredit::received(size_t bytes) {
  if (bytes > stream_window_bytes - held_) {
    return fail(Errc::protocol, format("{} bytes of a stream with credit for {}", bytes,
                                       stream_window_bytes - held_));
  }
  held_ += static_cast<uint32_t>(bytes);
  return {};
}

uint32_t StreamCredit::to_grant(size_t unwritten) {
  assert(unwritten <= held_);
  const uint32_t written = held_ - static_cast<uint32_t>(unwritten);
  if (written < stream_window_bytes / 4) return 0;
  held_ -= written;
  return written;
}

}  // namespace dt

#include "launcher/network/relay_window.h"

#include "base/format.h"

#include <cassert>

namespace dt {

void RelayWindow::sent(size_t bytes) {
  assert(bytes <= room_);
  room_ -= static_cast<uint32_t>(bytes);
}

Result<> RelayWindow::granted(uint32_t bytes) {
  if (bytes > stream_window_bytes - room_) {
    return fail(Errc::protocol, format("credit for {} bytes of which only {} were sent", bytes,
                                       stream_window_bytes - room_));
  }
  room_ += bytes;
  return {};
}

Result<> RelayWindow::received(size_t bytes) {
  if (bytes > stream_window_bytes - held_) {
    return fail(Errc::protocol, format("{} relayed bytes where there was credit for {}", bytes,
                                       stream_window_bytes - held_));
  }
  held_ += static_cast<uint32_t>(bytes);
  return {};
}

uint32_t RelayWindow::to_grant(size_t unwritten) {
  assert(unwritten <= held_);
  const uint32_t written = held_ - static_cast<uint32_t>(unwritten);
  if (written < stream_window_bytes / 4) return 0;
  held_ -= written;
  return written;
}

}  // namespace dt

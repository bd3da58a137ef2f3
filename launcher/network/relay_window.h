#pragma once

#include "base/result.h"
#include "launcher/protocol/message.h"

#include <cstddef>
#include <cstdint>

namespace dt {

/// The credit of one relayed connection at one end of the link. Neither end ever holds more than
/// one window of the other's bytes. Pure.
class RelayWindow {
 public:
  /// Returns how many bytes may be sent to the other end now.
  size_t room() const { return room_; }
  /// Called when bytes were sent. Requires bytes <= room().
  void sent(size_t bytes);
  /// Called when credit arrives. Fails with Errc::protocol when it exceeds the bytes sent.
  Result<> granted(uint32_t bytes);

  /// Called when bytes arrive. Fails with Errc::protocol when the other end had no credit for them.
  Result<> received(size_t bytes);
  /// Returns the credit to grant to the other end, when `unwritten` received bytes are still here.
  /// Returns 0 below a quarter of the window: credit messages for a few bytes cost too much.
  uint32_t to_grant(size_t unwritten);

 private:
  uint32_t room_ = stream_window_bytes;
  uint32_t held_ = 0;  ///< bytes received, but not granted again
};

}  // namespace dt

#pragma once

#include "base/result.h"
#include "launcher/protocol/message.h"

#include <cstddef>
#include <cstdint>

namespace dt {

/// The credit of one stream, or one relayed connection, at one end of a link. Neither end buffers
/// more than stream_window_bytes that the other end sent. Pure.
class StreamCredit {
 public:
  /// How many bytes this end may send now.
  size_t room() const { return room_; }
  /// This end sent so many bytes. Requires bytes <= room().
  void sent(size_t bytes);
  /// The other end granted credit for so many bytes that it no longer buffers. Fails with
  /// Errc::protocol when it never received them.
  Result<> granted(uint32_t bytes);

  /// This end received so many bytes. Fails with Errc::protocol when the sender had no credit.
  Result<> received(size_t bytes);
  /// Returns the credit to grant to the other end, when this end still buffers `unwritten` of the
  /// received bytes. Zero means not yet: a grant for a few bytes would cost more than they do.
  uint32_t to_grant(size_t unwritten);

 private:
  uint32_t room_ = stream_window_bytes;
  uint32_t held_ = 0;  ///< received, and not yet granted again
};

}  // namespace dt

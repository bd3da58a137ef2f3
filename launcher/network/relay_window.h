#pragma once

#include "base/result.h"
#include "launcher/protocol/message.h"

#include <cstddef>
#include <cstdint>

namespace dt {

/// The credit of one relayed connection at one end of the link: neither end ever holds more than a
/// window of what the other has sent. Pure.
class RelayWindow {
 public:
  /// So many bytes may go to the other end now.
  size_t room() const { return room_; }
  /// They went; never more than there was room for.
  void sent(size_t bytes);
  /// The other end has dealt with so many. An error when it never had them.
  Result<> granted(uint32_t bytes);

  /// So many came from the other end. An error when it had no credit for them.
  Result<> received(size_t bytes);
  /// Of those, `unwritten` are still here. Returns what to grant the other end; 0 for nothing yet,
  /// since a grant for every few bytes would cost more than they do.
  uint32_t to_grant(size_t unwritten);

 private:
  uint32_t room_ = stream_window_bytes;
  uint32_t held_ = 0;  ///< received, and not granted again
};

}  // namespace dt

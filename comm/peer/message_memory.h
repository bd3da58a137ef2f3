#pragma once

#include "base/bytes.h"
#include "base/clock.h"

#include <cstddef>
#include <memory>

namespace dt {

/// The memory of received messages. The longest block is used again as soon as nobody refers to it.
/// The kernel maps and clears fresh pages, which takes longer than to fill them. For one thread.
///
/// Kept memory adds nothing to what busy connections need: each may receive such a message any
/// time. So only a block that is unused for a while is freed.
class MessageMemory {
 public:
  static constexpr Duration unused_max = seconds(10);

  /// Returns so many bytes of any content.
  std::shared_ptr<Bytes> take(size_t size);
  /// Frees the block when no message has used it for unused_max, as far as calls of this function
  /// show. Returns when to call it again; Time::max(): after the next message.
  Time free_unused(Time now);

 private:
  std::shared_ptr<Bytes> spare_ = std::make_shared<Bytes>();
  bool used_ = false;  ///< since the last free_unused()
  Time free_at_ = Time::max();
};

}  // namespace dt

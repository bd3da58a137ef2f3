#pragma once

#include "base/bytes.h"

#include <cstddef>
#include <memory>

namespace dt {

/// The memory of received messages. The longest block is used again as soon as nobody refers to it.
/// The kernel maps and clears fresh pages, which takes longer than to fill them. For one thread.
class MessageMemory {
 public:
  /// Returns so many bytes of any content.
  std::shared_ptr<Bytes> take(size_t size);

 private:
  std::shared_ptr<Bytes> spare_ = std::make_shared<Bytes>();
};

}  // namespace dt

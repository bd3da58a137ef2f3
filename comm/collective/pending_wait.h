#pragma once

#include "comm/schedule/operation_request.h"

#include <cstdint>

namespace dt {

/// A pending operation that waits for other ranks.
struct PendingWait {
  const Operation* operation = nullptr;  ///< valid until the engine's next call
  uint64_t progress = 0;                 ///< changes when data of the operation moves
};

}  // namespace dt

#pragma once

#include "base/bytes.h"
#include "comm/collective/operation.h"

#include <cstdint>
#include <string>

namespace dt {

/// The end of all collectives of a group from one on.
struct CollectiveStop {
  uint64_t from = 0;     ///< the first collective that fails
  OperationFailure why;  ///< of that one
  std::string later;     ///< the reason for all later ones
};

/// Reasons are cut to this length: two of them fit into a control message.
inline constexpr size_t reason_bytes_max = 1500;

Bytes encode(const CollectiveStop& stop);
Result<CollectiveStop> decode_stop(ByteSpan bytes);

}  // namespace dt

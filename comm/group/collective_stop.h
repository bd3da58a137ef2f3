#pragma once

#include "base/bytes.h"
#include "comm/collective/group_peers.h"
#include "comm/collective/operation.h"

#include <cstdint>
#include <optional>
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

/// The stop of a group, as far as this rank knows. The rank that detects a failure sends a stop to
/// all, and every rank forwards it once. The forwarding is needed, because a rank does not read a
/// link whose data comes too early. So a stop behind that data is unread. The rank that the reader
/// waits for forwards the stop.
class GroupStop {
 public:
  /// Requires that `peers` outlives this object.
  explicit GroupStop(GroupPeers& peers) : peers_(peers) {}

  /// Sends the stop to the others, unless one from the same collective or a smaller number is
  /// known.
  void raise(CollectiveStop stop, Recipients recipients = Recipients::all);
  /// Raises the stop of the collectives from that number on, all for one reason.
  void raise(uint64_t from, const OperationFailure& why, Recipients recipients = Recipients::all) {
    raise({from, why, why.reason}, recipients);
  }
  /// Raises the stop because a rank of the group is gone.
  void raise_lost(uint64_t from, int rank);
  /// Returns null while there is no stop.
  const CollectiveStop* known() const { return stop_ ? &*stop_ : nullptr; }
  bool includes(uint64_t sequence) const { return stop_ && sequence >= stop_->from; }

 private:
  GroupPeers& peers_;
  std::optional<CollectiveStop> stop_;
};

}  // namespace dt

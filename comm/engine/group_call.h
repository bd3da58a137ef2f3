#pragma once

#include "base/bytes.h"
#include "comm/collective/operation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dt {

/// A rank's call to make a group, as its members compare it.
struct GroupCall {
  uint32_t id = 0;      ///< counts the calls of its rank
  uint32_t number = 0;  ///< the lowest number that is new to its rank
  uint32_t made = 0;    ///< the groups of this digest that the rank is or was in
  uint64_t digest = 0;  ///< of the members and the name
  std::string text;     ///< both, for messages: `[0, 2] and the name "rows"`

  /// `members` has the job's ranks.
  static GroupCall of(const std::vector<int>& members, const std::string& name);
};

/// The end of such a call, without a group.
struct GroupCallEnd {
  uint32_t id = 0;  ///< of the call
  OperationFailure why = {};
};

/// The group of such a call.
struct MadeGroup {
  uint32_t id = 0;  ///< of the call
  uint32_t number = 0;
};

Bytes encode(const GroupCall& call);
Result<GroupCall> decode_group_call(ByteSpan bytes);
Bytes encode(const GroupCallEnd& end);
Result<GroupCallEnd> decode_group_call_end(ByteSpan bytes);
Bytes encode(const MadeGroup& made);
Result<MadeGroup> decode_made_group(ByteSpan bytes);

}  // namespace dt

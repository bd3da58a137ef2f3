#pragma once

#include "comm/collective/descriptor.h"
#include "comm/collective/operation.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt {

/// The list of tensors of which a call is a part. All its parts are run, or none.
struct ListPart {
  /// A hash of its name and length; 0: the call stands alone, as a tensor with its own name does.
  uint64_t list = 0;
  uint32_t parts = 0;  ///< of the list

  static ListPart of(const Operation& part);
  /// Returns a hash of the list's name, which lists of other lengths have, too.
  uint64_t name() const;
};

/// A rank's announcement that it has made a named call.
struct NameArrival {
  Descriptor descriptor;
  Duration timeout = Duration::zero();    ///< zero: none
  Duration remaining = Duration::zero();  ///< of the timeout
  bool blocks = false;                    ///< a thread of the rank waits for it
  ListPart part_of = {};
  int priority = 0;  ///< on rank 0, whose calls are not sent: higher ones run first
  std::optional<DeviceRoute> wish = {};  ///< of a CallAgreement; none: the call moves data
  bool of_unnamed = false;               ///< likewise
  uint64_t before = 0;                   ///< likewise
};

/// Rank 0's decision about calls that all ranks have made. All ranks get all decisions in the same
/// order.
struct NameDecision {
  /// The hashes of the names that run in one collective. For a failure: the one name.
  std::vector<uint64_t> names;
  std::optional<OperationFailure> failure = {};  ///< none: they run
  /// Those of the calls that ranks which have joined have not made, without names and shapes.
  std::vector<Descriptor> for_joined = {};
  int average_over = 0;  ///< the ranks that averages are over; 0: all
  /// By rank: whose contributions count, in calls with a quorum. Empty: those of all ranks.
  std::vector<bool> participants = {};
  int last_joined = -1;                   ///< of a join: the rank of the group that joined last
  std::optional<DeviceRoute> route = {};  ///< of calls that move no data; none: they run

  /// True when the contribution of that rank counts.
  bool includes(int rank) const {
    return participants.empty() || participants[static_cast<size_t>(rank)];
  }
  /// Returns the ranks of a group of that size whose contributions count.
  std::vector<int> included(int size) const;
};

/// Encodes as many arrivals from `from` on as fit into a message, and advances `from`.
Bytes encode_arrivals(const std::vector<NameArrival>& arrivals, size_t& from);
Result<std::vector<NameArrival>> decode_arrivals(ByteSpan bytes);

/// Requires at most names_per_decision_max names, names_for_joined_max of which are for_joined, and
/// a reason of at most reason_bytes_max bytes.
Bytes encode(const NameDecision& decision);
Result<NameDecision> decode_name_decision(ByteSpan bytes);

inline constexpr size_t names_per_decision_max = 256;
inline constexpr size_t names_for_joined_max = 28;

}  // namespace dt

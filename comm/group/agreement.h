#pragma once

#include "comm/collective/group_peers.h"
#include "comm/group/arrival_table.h"
#include "comm/group/collective_stop.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt {

/// Rank 0's decision about the calls of one collective.
struct Verdict {
  int blamed_rank = -1;
  std::string mismatch = {};  ///< how the calls differ; empty: they are equal
  bool equal() const { return mismatch.empty(); }
};

Bytes encode(const Verdict& verdict);
Result<Verdict> decode_verdict(ByteSpan bytes);

/// Rank 0's side of the agreement in a group. It collects the descriptors of one collective at a
/// time. When all are there, it sends all ranks a verdict.
///
/// A rank that does not wait for the verdict may also send its descriptor. Then it is late, or it
/// has seen a difference. Rank 0 then asks all ranks how far they are.
class Agreement {
 public:
  /// Requires that `peers` outlives this object.
  explicit Agreement(GroupPeers& peers) : peers_(peers), arrivals_(peers.size()) {}

  bool empty() const { return arrivals_.empty(); }
  /// The number of the collective. Requires that a rank has arrived at it.
  uint64_t sequence() const { return arrivals_.sequence(); }
  /// True when rank 0 has asked all ranks how far they are in that collective.
  bool asks(uint64_t sequence) const { return asked_ == sequence; }

  /// Returns the ranks whose descriptor has not arrived.
  std::vector<int> missing() const { return arrivals_.missing(); }

  /// Takes the descriptor of a rank. Fails with Errc::protocol when it cannot be.
  Result<> add(int rank, Arrival arrival, Time now);
  /// A rank is done with that collective, so the calls of all are equal. Sends the verdict if some
  /// have arrived.
  void settle(uint64_t sequence);
  /// Sends one rank the verdict that the calls are equal.
  void confirm(int rank, uint64_t sequence);
  /// Returns the verdict, and sends it to all, as soon as all have arrived.
  std::optional<Verdict> decide();

  /// The time when overdue() may be something.
  Time next_deadline() const;
  /// Returns the stop that names the missing ranks when the first time limit has ended.
  std::optional<CollectiveStop> overdue(Time now) const;
  /// Returns the stop that names a missing rank that is gone, and that the others need.
  std::optional<CollectiveStop> lost() const;

  /// Connects with the ranks that have not arrived after some time, so that lost() can find them.
  void connect_missing(Time now);
  /// The time when connect_missing() has something to do.
  Time connects_at() const { return empty() ? Time::max() : connects_at_; }

 private:
  OperationFailure missing_failure(Duration timeout) const;

  GroupPeers& peers_;
  ArrivalTable arrivals_;
  uint64_t asked_ = 0;
  Time connects_at_ = Time::max();
  Time answers_end_ = {};  ///< ranks that were asked have this long to answer
};

/// "timed out after 1s: rank 3 (host b) has not arrived". `missing` has ranks of the group.
std::string missing_text(const GroupPeers& peers, Duration timeout, const std::vector<int>& missing,
                         std::string_view what = "arrived");

}  // namespace dt

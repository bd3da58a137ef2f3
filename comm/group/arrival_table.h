#pragma once

#include "comm/collective/descriptor.h"

#include <cstdint>
#include <vector>

namespace dt {

/// Rank 0's list of the ranks that have arrived at one collective, with their descriptors. One
/// descriptor a rank suffices. A rank at the next collective is done with this one, so all calls of
/// this one are equal.
class ArrivalTable {
 public:
  explicit ArrivalTable(int size) : entries_(static_cast<size_t>(size)) {}

  /// The number of the collective at which the ranks arrive. Requires that one has arrived.
  uint64_t sequence() const { return sequence_; }
  /// Fails with Errc::protocol when that rank has arrived already, or at another collective. A rank
  /// may arrive again with a later state.
  Result<> add(int rank, Arrival arrival, Time now);
  bool empty() const { return arrived_ == 0; }
  bool arrived(int rank) const { return entries_[static_cast<size_t>(rank)].arrived; }
  bool complete() const { return arrived_ == entries_.size(); }
  std::vector<int> missing() const;
  /// The missing ranks that were asked and had not made the call.
  std::vector<int> absent() const;
  /// True when no rank can end the collective before all have arrived. Then a rank waits for the
  /// verdict, or two calls differ. Otherwise a missing rank may be done with the collective.
  bool needs_all() const;
  /// The first rank whose time ends, and when.
  struct Deadline {
    int rank = -1;
    Time time = Time::max();
  };
  Deadline next_deadline() const;
  const Arrival& of(int rank) const { return entries_[static_cast<size_t>(rank)].arrival; }
  /// Returns the descriptors by rank and clears the table for the next collective. Requires
  /// complete().
  std::vector<Descriptor> take();
  void clear();

 private:
  struct Entry {
    bool arrived = false;
    bool absent = false;  ///< it was asked, and had not made the call
    Arrival arrival = {};
    Time deadline = Time::max();
  };
  std::vector<Entry> entries_;
  size_t arrived_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace dt

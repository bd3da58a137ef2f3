#pragma once

#include "comm/engine/descriptor.h"

#include <cstdint>
#include <vector>

namespace dt {

/// Rank 0's list of the ranks that have arrived at one collective, with their descriptors. One
/// descriptor a rank suffices: no rank sends the next one before the verdict on this one.
class ArrivalTable {
 public:
  explicit ArrivalTable(int size) : entries_(static_cast<size_t>(size)) {}

  /// The number of the collective at which the ranks arrive. Requires that one has arrived.
  uint64_t sequence() const { return sequence_; }
  /// Fails with Errc::protocol when that rank has arrived already, or at another collective.
  Result<> add(int rank, Arrival arrival, Time now);
  bool empty() const { return arrived_ == 0; }
  bool arrived(int rank) const { return entries_[static_cast<size_t>(rank)].arrived; }
  bool complete() const { return arrived_ == entries_.size(); }
  std::vector<int> missing() const;
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

 private:
  struct Entry {
    bool arrived = false;
    Arrival arrival = {};
    Time deadline = Time::max();
  };
  std::vector<Entry> entries_;
  size_t arrived_ = 0;
  uint64_t sequence_ = 0;
};

}  // namespace dt

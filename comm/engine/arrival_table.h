#pragma once

#include "comm/engine/descriptor.h"

#include <cstdint>
#include <vector>

namespace dt {

/// Rank 0's list of who has arrived at the next collective, and with what. Holds one descriptor a
/// rank, since nobody sends the next one before the verdict on this one.
class ArrivalTable {
 public:
  explicit ArrivalTable(int size) : entries_(static_cast<size_t>(size)) {}

  /// The collective that is being waited for; counted from 1.
  uint64_t sequence() const { return sequence_; }
  /// Fails when that rank is there already.
  Result<> add(int rank, Arrival arrival, Time now);
  bool empty() const { return arrived_ == 0; }
  bool arrived(int rank) const { return entries_[static_cast<size_t>(rank)].arrived; }
  bool complete() const { return arrived_ == entries_.size(); }
  std::vector<int> missing() const;
  /// The first to run out of time, and when.
  struct Deadline {
    int rank = -1;
    Time time = Time::max();
  };
  Deadline next_deadline() const;
  const Arrival& of(int rank) const { return entries_[static_cast<size_t>(rank)].arrival; }
  /// All are there: their descriptors by rank; the list begins anew for the next collective.
  std::vector<Descriptor> take();

 private:
  struct Entry {
    bool arrived = false;
    Arrival arrival = {};
    Time deadline = Time::max();
  };
  std::vector<Entry> entries_;
  size_t arrived_ = 0;
  uint64_t sequence_ = 1;
};

}  // namespace dt

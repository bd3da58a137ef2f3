#pragma once

#include "base/clock.h"
#include "base/vector_queue.h"
#include "comm/collective/operation.h"
#include "comm/group/collective_stop.h"
#include "comm/group/time_limits.h"

#include <cstdint>
#include <memory>
#include <string>

namespace dt {

/// The collectives of a group that have not ended, in order of submission. Each has a sequence
/// number, which is the same on every rank.
class OperationQueue {
 public:
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  /// The first collective. Requires that there is one.
  Operation& front() { return *queue_.front(); }
  const Operation& front() const { return *queue_.front(); }
  /// The number of the first collective that has not ended here.
  uint64_t first_sequence() const { return empty() ? submitted_ + 1 : front().sequence; }
  /// Returns the number of a collective that is never queued.
  uint64_t take_sequence() { return ++submitted_; }

  void push(std::shared_ptr<Operation> operation);
  /// Removes the first collective, which has ended.
  void pop_front();
  /// True when the stop ends a collective of the queue.
  bool is_stopped_by(const CollectiveStop& stop) const;
  /// Ends the collectives from the stop's one on, the last one first.
  void end_from(const CollectiveStop& stop);
  void end_all(const OperationFailure& why);

  /// Returns the earliest time limit of those behind the first. Requires that there is a first.
  Time next_limit() const { return limits_.earliest_behind(front().sequence); }
  /// Returns the first of those behind the first whose limit has ended; null for none.
  const Operation* overdue_behind_front(Time now) const;

  /// Returns "barrier #11", the last collective before the first one; empty for none.
  std::string last_label() const;

 private:
  void note_limits();

  VectorQueue<std::shared_ptr<Operation>> queue_;
  TimeLimits limits_;  ///< of queue_
  uint64_t submitted_ = 0;
  OperationKind last_kind_ = OperationKind::barrier;  ///< of the last collective that ended
  std::string last_name_;
};

}  // namespace dt

#pragma once

#include "base/clock.h"
#include "base/vector_queue.h"

#include <cstdint>

namespace dt {

/// The time limits of queued operations. It keeps only those that can be the earliest of any later
/// part of the queue. So they ascend, and no operation needs more than constant time on average.
class TimeLimits {
 public:
  /// Appends the limit of an operation with a higher number than all before; Time::max(): none.
  void push(uint64_t sequence, Time limit) {
    if (limit == Time::max()) return;
    while (!limits_.empty() && limits_.back().end >= limit)
      limits_.pop_back();
    limits_.push_back({sequence, limit});
  }
  /// Removes the limits of the operations up to that number.
  void pop_to(uint64_t sequence) {
    while (!limits_.empty() && limits_.front().sequence <= sequence)
      limits_.pop_front();
  }
  void clear() { limits_.clear(); }

  /// Returns the earliest limit of the operations with higher numbers. Requires that no operation
  /// below that number is queued.
  Time earliest_behind(uint64_t sequence) const {
    auto limit = limits_.begin();
    if (limit != limits_.end() && limit->sequence == sequence) ++limit;
    return limit == limits_.end() ? Time::max() : limit->end;
  }

 private:
  struct Limit {
    uint64_t sequence = 0;
    Time end = {};
  };

  VectorQueue<Limit> limits_;
};

}  // namespace dt

#pragma once

#include "comm/group/call_check.h"
#include "comm/group/group_communicators.h"

#include <vector>

namespace dt {

/// The watchdog of the collectives of a group. It knows which ranks the first one waits for. It
/// stops the collectives when a time limit ends, or when a rank is gone that the first one needs.
class Watchdog {
 public:
  struct Watched {
    GroupPeers& peers;
    const OperationQueue& queue;
    const CallCheck& check;
    const GroupCommunicators& communicators;
    GroupStop& stop;
  };
  /// Requires that all of these outlive this object.
  explicit Watchdog(Watched watched) : watched_(watched) {}

  /// Called when the first collective begins.
  void begin() { leaver_blamed_at_ = Time::max(); }
  /// Raises a stop when a time limit has ended.
  void expire(Time now);
  Time next_deadline() const;
  /// Raises a stop, and returns true, when a rank is gone that the first collective needs. Requires
  /// that this one has begun.
  bool stop_without_needed(Time now);
  /// Returns the group's ranks for which the first collective waits now.
  std::vector<int> awaited() const;

 private:
  Time front_expires_at() const;
  bool is_first_caller() const;
  void time_out(const Operation& operation);
  bool may_miss_verdict() const;
  bool may_know_more(int rank, Time now);

  Watched watched_;
  Time leaver_blamed_at_ = Time::max();  ///< not sooner, in the first collective
};

}  // namespace dt

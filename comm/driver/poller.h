#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "comm/driver/core_sharing.h"
#include "comm/driver/inbox.h"
#include "comm/driver/monitor.h"
#include "comm/engine/rank_group.h"
#include "comm/transport/mesh.h"

namespace dt {

/// How the thread that drives waits while it does not sleep: it polls the links, and spins on
/// shared memory. For the thread that has the driver's mutex.
class Poller {
 public:
  struct Parts {
    Engine& engine;
    Mesh* mesh = nullptr;  ///< null when this rank is alone
    const Monitor& monitor;
    const Inbox& inbox;
  };
  /// `yield`: between spins, because ranks share cores.
  Poller(const Parts& parts, bool yield) : parts_(parts), core_(yield) {}

  /// Polls the links if that is due. They are not polled each time while `operation` waits for one
  /// rank, whose link is read. Returns what Mesh::wait() does.
  Result<bool> poll(Time now, const Operation* operation);
  /// All links were polled at that time.
  void note_poll(Time now) { polled_at_ = now; }
  /// False if all links were polled not long ago.
  bool due(Time now) const;

  /// Waits for a moment, and checks the operation alone if that is cheap. Returns true when data
  /// has moved.
  bool spin(const Operation* operation);
  /// Checks an operation in memory of that group for a short time.
  void spin_quickly(RankGroup& group, const Operation& operation);

 private:
  bool spin_yielding(const Operation* operation);
  void yield_core();

  Parts parts_;
  CoreSharing core_;  ///< of the thread that drives
  Time polled_at_ = {};
};

}  // namespace dt

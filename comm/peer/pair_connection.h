#pragma once

#include "base/io/fd.h"
#include "comm/transport/link.h"
#include "comm/transport/pair_memory.h"
#include "comm/transport/shm_link.h"

#include <cstdint>
#include <memory>

namespace dt {

/// A connection between two tasks of a host, whose bytes go through shared memory. Their Unix
/// socket carries none: its end is that of the other task. For one thread.
///
/// A task has one doorbell for all of these, and waits for it and for each fd(). No descriptor
/// shows what a peer does while this task is awake: see changed().
class PairConnection {
 public:
  struct Ends {
    Fd socket;
    Fd doorbell;  ///< the other task's
    std::shared_ptr<PairMemory> memory;
    PairMemory::Side side = PairMemory::Side::dialer;
  };
  explicit PairConnection(Ends ends);

  Link& link() { return link_; }
  int fd() const { return peer_->socket.get(); }
  /// Called before each use of the link. Whatever the other task does from now on is a change.
  void begin_round();
  /// True when bytes have come, or, for an end that has unsent ones, when there is room.
  bool changed(bool unsent) const;
  /// Called before the task sleeps: from now on, a change rings its doorbell. Returns false when
  /// there was one, and the task must not sleep.
  bool fall_asleep(bool unsent);
  void wake_up();
  /// Called when the link had nothing to do: fd() may have reported the end.
  void look_for_end();

 private:
  std::shared_ptr<ShmPeer> peer_;
  std::atomic<uint32_t>* asleep_;
  const RingControl* in_;
  const RingControl* out_;
  ShmLink link_;
  uint64_t seen_written_ = 0;
  uint64_t seen_read_ = 0;
};

}  // namespace dt

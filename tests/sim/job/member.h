#pragma once

#include "rendezvous/cluster/task.h"
#include "rendezvous/secure/handshake.h"
#include "rendezvous/store/wire.h"
#include "tests/sim/job/cable.h"

#include <functional>
#include <memory>
#include <string>

namespace dt {

/// A task's side of the rendezvous. It joins with the same handshakes, sealed frames and requests
/// as libdtrain, but never blocks. Then it waits until all tasks have arrived, and listens for
/// notices.
class Member {
 public:
  struct Handlers {
    bool needs_all = true;             ///< a task that leaves before the barrier is a failure
    std::function<void()> on_barrier;  ///< all tasks have arrived
    std::function<void(const Notice&)> on_notice;
    std::function<void()> on_wait_query;
    /// Called once: the rendezvous refused it, some task has ended, or the rendezvous is lost.
    std::function<void(const std::string& why)> on_failure;
  };
  /// `dial` is called with the rendezvous' end of the connection.
  Member(Site& site, Cable::Nature nature, Claim claim, const std::function<void(Fd)>& dial,
         Handlers handlers);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member();

  void report(const WaitReport& waits);
  /// How long this task may wait for others before it reports that.
  Duration stall_after() const;
  /// It has joined, and is still connected.
  bool hears() const;
  Cable& cable();

 private:
  class Conversation;
  std::unique_ptr<Conversation> conversation_;
};

}  // namespace dt
